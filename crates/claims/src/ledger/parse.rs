//! Reads a part of a rule, by recursive descent.

use super::cursor::{Cursor, Read};
use super::rule::{Call, Comparison, Each, Expr, Part, Relation, RuleError, Scope};
use super::token::Token;

/// The functions by their names.
const CALLS: [(&str, Call); 8] = [
    ("abs", Call::Abs),
    ("argmax", Call::Argmax),
    ("correlation", Call::Correlation),
    ("max", Call::Max),
    ("mean", Call::Mean),
    ("median", Call::Median),
    ("min", Call::Min),
    ("run_length", Call::RunLength),
];

/// Reads a part.
pub(super) fn parse(text: &str) -> Result<Part, RuleError> {
    let mut parser = Parser(Cursor::new(text.trim())?);
    if parser.is_remark() {
        return Ok(parser.part(None));
    }
    let relation = parser.relation()?;
    let mut part = parser.part(Some(relation));
    parser.qualifiers(&mut part)?;
    Ok(part)
}

struct Parser<'a>(Cursor<'a>);

impl Parser<'_> {
    fn part(&self, relation: Option<Relation>) -> Part {
        Part {
            text: self.0.text().to_owned(),
            relation,
            each: Each::Once,
            scope: None,
        }
    }

    /// True if nothing in it relates anything to anything, or looks like a function.
    fn is_remark(&self) -> bool {
        let relates = |token: &Token| match token {
            Token::Sign(sign) => !matches!(*sign, "'" | ","),
            Token::Word(word) => matches!(word.as_str(), "monotone" | "bimodal" | "falls"),
            _ => false,
        };
        !self.0.any(relates)
    }

    fn relation(&mut self) -> Read<Relation> {
        if self.0.takes_words(&["monotone"]) {
            return self.monotone();
        }
        if self.0.takes_words(&["bimodal"]) {
            self.0.sign("(")?;
            let of = self.0.word("a name")?;
            self.0.sign(")")?;
            return Ok(Relation::Bimodal { of });
        }
        let left = self.sum()?;
        if self.0.takes_words(&["falls", "over"]) {
            let over = self.0.word("a coordinate")?;
            return match left {
                Expr::Name(curve) => Ok(Relation::Falls { curve, over }),
                _ => Err(self.0.unexpected("the name of a curve")),
            };
        }
        if self.0.takes("~") {
            let right = self.sum()?;
            self.0.words(&["within"], "`within`")?;
            let within = self.0.number()?;
            return Ok(Relation::Near {
                left,
                right,
                within,
            });
        }
        if self.0.takes_words(&["in"]) {
            return self.range(left);
        }
        let comparison = self.comparison().ok_or_else(|| {
            self.0
                .unexpected("a comparison, `~ ... within`, `in [ ]` or `falls over`")
        })?;
        let right = self.sum()?;
        Ok(Relation::Compare {
            left,
            comparison,
            right,
        })
    }

    /// What stands behind `monotone`.
    fn monotone(&mut self) -> Read<Relation> {
        self.0.sign("(")?;
        let curve = self.0.word("the name of a curve")?;
        self.0.words(&["over"], "`over`")?;
        let over = self.0.word("a coordinate")?;
        let above = self.0.takes_words(&["above"]);
        let above = above.then(|| self.0.quantity()).transpose()?;
        let falling = self.0.takes(",");
        if falling {
            self.0.words(&["falling"], "`falling`")?;
        }
        self.0.sign(")")?;
        Ok(Relation::Monotone {
            curve,
            over,
            falling,
            above,
        })
    }

    /// What stands behind `in`.
    fn range(&mut self, value: Expr) -> Read<Relation> {
        self.0.sign("[")?;
        let low = self.0.number()?;
        self.0.sign(",")?;
        let high = self.0.number()?;
        self.0.sign("]")?;
        let [low, high] = self.0.with_unit([low, high]);
        Ok(Relation::In { value, low, high })
    }

    fn qualifiers(&mut self, part: &mut Part) -> Read<()> {
        while !self.0.is_at_end() {
            if self.0.takes_words(&["for"]) {
                if let Some(each) = self.each()? {
                    part.each = each;
                }
            } else if self.0.takes_words(&["at"]) {
                part.scope = part.scope.take().or(self.scope());
            } else {
                return Err(self.0.unexpected("`for`, `at` or the end"));
            }
            self.skip_words();
        }
        Ok(())
    }

    /// What stands behind `for`; nothing of words that only describe.
    fn each(&mut self) -> Read<Option<Each>> {
        let other = self.0.takes_words(&["every", "other"]);
        if other || self.0.takes_words(&["each"]) {
            let segment = self.0.word("the segment of a name")?;
            return Ok(Some(Each::Measured { segment, other }));
        }
        let [Some(Token::Word(segment)), Some(Token::Word(word))] =
            [self.0.peek(0), self.0.peek(1)]
        else {
            return Ok(None);
        };
        if word != "in" {
            return Ok(None);
        }
        let segment = segment.clone();
        self.0.skip(2);
        let mut names = vec![self.0.word("a name")?];
        while self.0.takes(",") {
            names.push(self.0.word("a name")?);
        }
        Ok(Some(Each::Listed { segment, names }))
    }

    /// What stands behind `at`; nothing of words that only describe.
    fn scope(&mut self) -> Option<Scope> {
        let start = self.0.place();
        let scope = self.place().or_else(|| {
            self.0.go_back(start);
            self.bounds()
        });
        if scope.is_none() {
            self.0.go_back(start);
        }
        scope
    }

    /// A coordinate and what bounds it: `load >= .9`.
    fn bounds(&mut self) -> Option<Scope> {
        let coordinate = self.0.word("a coordinate").ok()?;
        Some(Scope {
            coordinate,
            comparison: self.comparison()?,
            bound: self.0.quantity().ok()?,
        })
    }

    /// A position and the words that are its coordinate: `100 packets a flow`.
    fn place(&mut self) -> Option<Scope> {
        let bound = self.0.quantity().ok()?;
        let mut words = Vec::new();
        while let Some(Token::Word(word)) = self.0.peek(0)
            && !ends_words(word)
        {
            words.push(word.clone());
            self.0.skip(1);
        }
        (!words.is_empty()).then(|| Scope {
            coordinate: words.join(" "),
            comparison: Comparison::Equal,
            bound,
        })
    }

    /// Goes on to the next `for` or `at`, over words that only describe.
    fn skip_words(&mut self) {
        let ends = |token: &Token| match token {
            Token::Word(word) => ends_words(word),
            Token::Number(_) => false,
            _ => true,
        };
        while self.0.peek(0).is_some_and(|token| !ends(token)) {
            self.0.skip(1);
        }
    }

    fn sum(&mut self) -> Read<Expr> {
        self.chain(Self::product, &["+", "-"])
    }

    fn product(&mut self) -> Read<Expr> {
        self.chain(Self::atom, &["*", "/"])
    }

    /// Operands between signs of one rank, from the left.
    fn chain(&mut self, operand: fn(&mut Self) -> Read<Expr>, signs: &[&str]) -> Read<Expr> {
        let mut all = operand(self)?;
        while let Some(Token::Sign(sign)) = self.0.peek(0)
            && signs.contains(sign)
        {
            let operation = sign.chars().next().unwrap_or('+');
            self.0.skip(1);
            all = Expr::Binary(Box::new(all), operation, Box::new(operand(self)?));
        }
        Ok(all)
    }

    fn atom(&mut self) -> Read<Expr> {
        if self.0.takes("(") {
            let inner = self.sum()?;
            self.0.sign(")")?;
            return Ok(inner);
        }
        if let Some(Token::Number(_)) = self.0.peek(0) {
            return self.0.quantity().map(Expr::Number);
        }
        let name = self.0.word("a number or a name")?;
        if !self.0.takes("(") {
            return Ok(Expr::Name(name));
        }
        let known = CALLS.iter().find(|(known, _)| *known == name);
        let (_, call) = known.ok_or(RuleError::Function(name))?;
        let mut arguments = vec![self.truth()?];
        while self.0.takes(",") {
            arguments.push(self.truth()?);
        }
        self.0.sign(")")?;
        Ok(Expr::Call(*call, arguments))
    }

    /// An argument: a sum, or whether one is more than another.
    fn truth(&mut self) -> Read<Expr> {
        self.chain(Self::sum, &[">"])
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let Some(Token::Sign(sign)) = self.0.peek(0) else {
            return None;
        };
        let comparison = match *sign {
            "<" => Comparison::Less,
            "<=" => Comparison::AtMost,
            ">" => Comparison::Greater,
            ">=" => Comparison::AtLeast,
            "==" => Comparison::Equal,
            _ => return None,
        };
        self.0.skip(1);
        Some(comparison)
    }
}

/// Whether a word ends those that only describe.
fn ends_words(word: &str) -> bool {
    word == "for" || word == "at"
}
