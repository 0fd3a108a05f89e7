//! A place in the tokens of a part of a rule.

use super::rule::{Quantity, RuleError};
use super::token::{Token, tokens};

/// What is read, or why it cannot be.
pub(super) type Read<T> = Result<T, RuleError>;

/// The tokens that are still to be read.
pub(super) struct Cursor<'a> {
    text: &'a str,
    tokens: Vec<(usize, Token)>,
    next: usize,
}

impl<'a> Cursor<'a> {
    /// At the begin of `text`.
    pub(super) fn new(text: &'a str) -> Read<Self> {
        let tokens = tokens(text).map_err(|found| RuleError::Character {
            found,
            part: text.to_owned(),
        })?;
        Ok(Self {
            text,
            tokens,
            next: 0,
        })
    }

    /// All that is read.
    pub(super) const fn text(&self) -> &'a str {
        self.text
    }

    /// True if nothing is left.
    pub(super) fn is_at_end(&self) -> bool {
        self.next >= self.tokens.len()
    }

    /// Whether any token is such.
    pub(super) fn any(&self, is: impl Fn(&Token) -> bool) -> bool {
        self.tokens.iter().any(|(_, token)| is(token))
    }

    /// Where it stands, for [`Self::go_back`].
    pub(super) const fn place(&self) -> usize {
        self.next
    }

    /// Back to a place where it stood.
    pub(super) const fn go_back(&mut self, place: usize) {
        self.next = place;
    }

    /// Over the next `count` tokens.
    pub(super) const fn skip(&mut self, count: usize) {
        self.next += count;
    }

    pub(super) fn number(&mut self) -> Read<f64> {
        match self.peek(0) {
            Some(Token::Number(value)) => {
                let value = *value;
                self.next += 1;
                Ok(value)
            }
            _ => Err(self.unexpected("a number")),
        }
    }

    /// A number with the unit that stands behind it, if one does.
    pub(super) fn quantity(&mut self) -> Read<Quantity> {
        let value = self.number()?;
        Ok(self.with_unit([value])[0])
    }

    /// Numbers with the unit that stands here, if one does.
    pub(super) fn with_unit<const N: usize>(&mut self, values: [f64; N]) -> [Quantity; N] {
        let unit = match self.peek(0) {
            Some(Token::Unit(unit)) => Some(*unit),
            _ => None,
        };
        self.next += usize::from(unit.is_some());
        let base = unit.map_or(1.0, |unit| unit.0);
        let dimension = unit.map(|unit| unit.1);
        let quantity = |value: f64| Quantity {
            value: value * base,
            dimension,
        };
        values.map(quantity)
    }

    pub(super) fn word(&mut self, expected: &'static str) -> Read<String> {
        match self.peek(0) {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.next += 1;
                Ok(word)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    pub(super) fn words(&mut self, words: &[&str], expected: &'static str) -> Read<()> {
        if self.takes_words(words) {
            return Ok(());
        }
        Err(self.unexpected(expected))
    }

    pub(super) fn sign(&mut self, sign: &'static str) -> Read<()> {
        if self.takes(sign) {
            return Ok(());
        }
        Err(self.unexpected(match sign {
            "(" => "`(`",
            ")" => "`)`",
            "[" => "`[`",
            "]" => "`]`",
            _ => "`,`",
        }))
    }

    pub(super) fn takes(&mut self, sign: &str) -> bool {
        let is = matches!(self.peek(0), Some(Token::Sign(found)) if *found == sign);
        self.next += usize::from(is);
        is
    }

    pub(super) fn takes_words(&mut self, words: &[&str]) -> bool {
        let is = |(ahead, word): (usize, &&str)| matches!(self.peek(ahead), Some(Token::Word(found)) if found == *word);
        let all = words.iter().enumerate().all(is);
        self.next += if all { words.len() } else { 0 };
        all
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.next + ahead).map(|(_, token)| token)
    }

    pub(super) fn unexpected(&self, expected: &'static str) -> RuleError {
        let at = self.tokens.get(self.next).map(|(at, _)| *at);
        let rest = at.map_or("its end", |at| &self.text[at..]);
        RuleError::Unexpected {
            expected,
            rest: rest.to_owned(),
            part: self.text.to_owned(),
        }
    }
}
