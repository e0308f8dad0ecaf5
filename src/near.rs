//! Names that look like another one: what was meant when a name is not known.
//!
//! Pure: texts in, texts out.

/// How many names are told.
const TOLD: usize = 3;

/// Up to three of the names that are nearest to `wanted`, nearest first; those as near stay in their order. A name is
/// near when it holds what is wanted, or when at most a third of the longer one would have to be changed.
#[must_use]
pub fn near<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = folded(wanted);
    let far = |name: &'a str| {
        let letters = folded(name);
        let changes = distance(&wanted, &letters);
        let holds = !wanted.is_empty() && letters.windows(wanted.len()).any(|part| part == wanted);
        (holds || changes * 3 <= wanted.len().max(letters.len())).then_some((changes, name))
    };
    let mut found: Vec<(usize, &str)> = names.into_iter().filter_map(far).collect();
    found.sort_by_key(|(changes, _)| *changes);
    found.into_iter().take(TOLD).map(|(_, name)| name).collect()
}

/// The letters without blanks and in lower case: neither is what people mean by another name.
fn folded(text: &str) -> Vec<char> {
    text.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// Letters to put in, leave out, replace, or swap with the next one, to make the one text of the other.
fn distance(one: &[char], other: &[char]) -> usize {
    // Rows of the table: two before, one before, the one at hand.
    let mut rows: [Vec<usize>; 3] = [Vec::new(), Vec::new(), (0..=other.len()).collect()];
    for (place, letter) in one.iter().enumerate() {
        rows.rotate_left(1);
        let mut row = vec![place + 1];
        for (at, against) in other.iter().enumerate() {
            let replaced = rows[1][at] + usize::from(letter != against);
            let mut least = replaced.min(rows[1][at + 1] + 1).min(row[at] + 1);
            if place > 0 && at > 0 && *letter == other[at - 1] && one[place - 1] == *against {
                least = least.min(rows[0][at - 1] + 1);
            }
            row.push(least);
        }
        rows[2] = row;
    }
    rows[2].last().copied().unwrap_or_default()
}
