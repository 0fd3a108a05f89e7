//! The words of a rule.

/// What units measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Seconds.
    Time,
    /// Bits a second.
    Rate,
}

/// Units, with what one of each is in the base unit (s, bit/s).
const UNITS: [(&str, Unit); 6] = [
    ("Mb/s", Unit(1e6, Dimension::Rate)),
    ("kb/s", Unit(1e3, Dimension::Rate)),
    ("b/s", Unit(1.0, Dimension::Rate)),
    ("ms", Unit(1e-3, Dimension::Time)),
    ("us", Unit(1e-6, Dimension::Time)),
    ("s", Unit(1.0, Dimension::Time)),
];

/// A unit that rules know: a multiple of the base unit of its dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit(pub(super) f64, pub(super) Dimension);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Number(f64),
    /// A name with its dots, or any word.
    Word(String),
    /// The unit of what stands before.
    Unit(Unit),
    Sign(&'static str),
}

/// Longer ones first.
const SIGNS: [&str; 16] = [
    "<=", ">=", "==", "<", ">", "~", "+", "-", "*", "/", "(", ")", "[", "]", ",", "'",
];

/// What one of `unit` is in the base unit; 1 for those that rules do not know.
pub(crate) fn base_of(unit: &str) -> f64 {
    known(unit).map_or(1.0, |unit| unit.0)
}

/// What `unit` measures, if rules know it.
pub(crate) fn dimension_of(unit: &str) -> Option<Dimension> {
    known(unit).map(|unit| unit.1)
}

fn known(unit: &str) -> Option<Unit> {
    let found = UNITS.iter().find(|(name, _)| *name == unit);
    found.map(|(_, unit)| *unit)
}

/// The tokens of a part, or the character that means nothing; each with the position where it starts.
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, char> {
    let mut found: Vec<(usize, Token)> = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let rest = &text[at..];
        let (token, len) = match found.last() {
            Some((_, Token::Number(_) | Token::Sign("]"))) => unit(rest),
            _ => None,
        }
        .or_else(|| number(rest))
        .or_else(|| word(rest))
        .or_else(|| sign(rest))
        .ok_or(first)?;
        found.push((at, token));
        at += len;
    }
    Ok(found)
}

fn unit(text: &str) -> Option<(Token, usize)> {
    let (name, unit) = UNITS.iter().find(|(name, _)| {
        let rest = text.strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '/'))
    })?;
    Some((Token::Unit(*unit), name.len()))
}

fn number(text: &str) -> Option<(Token, usize)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let digits = &text[..end.unwrap_or(text.len())];
    let value = digits.parse().ok()?;
    Some((Token::Number(value), digits.len()))
}

fn word(text: &str) -> Option<(Token, usize)> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '.' && c != '_');
    let word = &text[..end.unwrap_or(text.len())];
    let is_word = word.starts_with(|c: char| c.is_alphabetic() || c == '_');
    is_word.then(|| (Token::Word(word.to_owned()), word.len()))
}

fn sign(text: &str) -> Option<(Token, usize)> {
    let found = SIGNS.iter().find(|sign| text.starts_with(**sign))?;
    Some((Token::Sign(found), found.len()))
}
