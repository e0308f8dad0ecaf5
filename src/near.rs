//! Names that look like another one: what was meant when a name is not known.
//!
//! Pure: texts in, texts out.

use strsim::osa_distance;

/// How many names are told.
const TOLD: usize = 3;

/// Up to three of the names that are nearest to `wanted`, nearest first; those as near stay in their order. A name is
/// near when it holds what is wanted, or when at most a third of the longer one would have to be changed.
#[must_use]
pub fn near<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = folded(wanted);
    let far = |name: &'a str| {
        let letters = folded(name);
        // Letters to put in, leave out, replace, or swap with the next one.
        let changes = osa_distance(&wanted, &letters);
        let holds = !wanted.is_empty() && letters.contains(&wanted);
        (holds || changes * 3 <= wanted.chars().count().max(letters.chars().count())).then_some((changes, name))
    };
    let mut found: Vec<(usize, &str)> = names.into_iter().filter_map(far).collect();
    found.sort_by_key(|(changes, _)| *changes);
    found.into_iter().take(TOLD).map(|(_, name)| name).collect()
}

/// The letters without blanks and in lower case: neither is what people mean by another name.
fn folded(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}
