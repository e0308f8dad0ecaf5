//! Articles of regulations, ranked with BM25.

use bm25::{Document, SearchEngine, SearchEngineBuilder, Tokenizer};
use serde::{Deserialize, Serialize};

const ARTICLES: &str = include_str!("data/articles.json");

/// An article.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Article {
    pub(super) article_id: String,
    pub(super) title: String,
    pub(super) text: String,
    /// The departments that it is about.
    #[serde(skip_serializing)]
    pub(super) dept_codes: Vec<String>,
}

/// Words in small letters, and two-letter shingles of Hangul: Korean glues particles to its words, so that a word is
/// rarely written alike twice.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shingles;

fn is_hangul(letter: char) -> bool {
    ('\u{ac00}'..='\u{d7a3}').contains(&letter)
}

impl Tokenizer for Shingles {
    fn tokenize(&self, text: &str) -> Vec<String> {
        let mut tokens = Vec::new();
        for word in text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
            tokens.push(word.to_lowercase());
            let letters: Vec<char> = word.chars().collect();
            let pairs = letters.windows(2).filter(|pair| pair.iter().all(|letter| is_hangul(*letter)));
            // A word of two letters is its own shingle.
            tokens.extend(pairs.filter(|_| letters.len() > 2).map(|pair| pair.iter().collect::<String>()));
        }
        tokens
    }
}

/// The articles that are shipped, ready to be searched.
pub(super) struct Index {
    articles: Vec<Article>,
    engine: SearchEngine<usize, u32, Shingles>,
}

impl Index {
    pub(super) fn shipped() -> Self {
        let articles: Vec<Article> =
            serde_json::from_str(ARTICLES).expect("a test reads the articles that are shipped");
        let documents = articles.iter().enumerate();
        let documents = documents.map(|(at, article)| Document::new(at, format!("{} {}", article.title, article.text)));
        let builder = SearchEngineBuilder::<usize, u32, Shingles>::with_tokenizer_and_documents(Shingles, documents);
        Self { engine: builder.build(), articles }
    }

    /// The articles about a department that share something with the query, the best first.
    pub(super) fn search(&self, query: &str, dept_code: &str, most: usize) -> Vec<&Article> {
        let mut found: Vec<(f32, usize)> =
            self.engine.search(query, None).into_iter().map(|found| (found.score, found.document.id)).collect();
        // Equal scores come in the order of a hash map.
        found.sort_by(|(a, first), (b, second)| b.total_cmp(a).then(first.cmp(second)));
        let articles = found.into_iter().filter_map(|(_, at)| self.articles.get(at));
        articles.filter(|article| article.dept_codes.iter().any(|code| code == dept_code)).take(most).collect()
    }
}
