//! The grammar of a part of a rule.

use winnow::ascii::multispace0;
use winnow::combinator::{alt, cut_err, delimited, fail, not, opt, preceded, repeat};
use winnow::combinator::{separated_foldl1, terminated};
use winnow::error::StrContextValue::Description;
use winnow::error::{ContextError, ErrMode, FromExternalError, ParseError, StrContext};
use winnow::prelude::*;
use winnow::token::{literal, one_of, take_while};

use super::rule::{Call, Comparison, Each, Expr, Part, Quantity, Relation, RuleError, Scope};
use super::units::Unit;

/// The functions by name.
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

/// The words with which a form of a curve is stated.
const FORMS: [&str; 3] = ["monotone", "bimodal", "falls"];

/// The signs that relate quantities. A part without them, and without a form, is a remark.
const RELATING: &str = "<>=~+-*/()[]";

/// The signs that also occur in remarks.
const OTHERS: &str = "._,'";

#[derive(Debug, thiserror::Error)]
#[error("there is no function `{0}`")]
struct UnknownFunction(String);

/// A part without its text.
struct Statement {
    relation: Relation,
    each: Each,
    scope: Option<Scope>,
}

/// Parses a part.
pub(super) fn parse(text: &str) -> Result<Part, RuleError> {
    let text = text.trim();
    let part = |relation, each, scope| Part {
        text: text.to_owned(),
        relation,
        each,
        scope,
    };
    if let Some(found) = text.chars().find(|c| !is_known(*c)) {
        return Err(RuleError::Character {
            found,
            part: text.to_owned(),
        });
    }
    if is_remark(text) {
        return Ok(part(None, Each::Once, None));
    }
    let parsed = statement.parse(text);
    let Statement {
        relation,
        each,
        scope,
    } = parsed.map_err(|error| rule_error(text, &error))?;
    Ok(part(Some(relation), each, scope))
}

fn is_known(c: char) -> bool {
    c.is_alphanumeric() || c.is_whitespace() || RELATING.contains(c) || OTHERS.contains(c)
}

fn is_remark(text: &str) -> bool {
    let mut words = text.split(|c: char| !is_in_word(c));
    !text.contains(|c| RELATING.contains(c)) && !words.any(|word| FORMS.contains(&word))
}

fn rule_error(text: &str, error: &ParseError<&str, ContextError>) -> RuleError {
    let cause = error.inner().cause();
    if let Some(UnknownFunction(name)) = cause.and_then(|cause| cause.downcast_ref()) {
        return RuleError::Function(name.clone());
    }
    let expected = error.inner().context().find_map(|context| match context {
        StrContext::Expected(Description(what)) => Some(*what),
        _ => None,
    });
    RuleError::Unexpected {
        expected: expected.unwrap_or("a relation"),
        rest: text[error.offset()..].to_owned(),
        part: text.to_owned(),
    }
}

/// A relation and its qualifiers, up to the end of the text.
fn statement(input: &mut &str) -> ModalResult<Statement> {
    let mut statement = Statement {
        relation: alt((monotone, bimodal, comparison_of_values)).parse_next(input)?,
        each: Each::Once,
        scope: None,
    };
    while !input.is_empty() {
        if opt(keyword("for")).parse_next(input)?.is_some() {
            if let Some(found) = opt(each).parse_next(input)? {
                statement.each = found;
            }
        } else if opt(keyword("at")).parse_next(input)?.is_some() {
            let found = opt(alt((position, bound))).parse_next(input)?;
            statement.scope = statement.scope.or(found);
        } else {
            return expected("`for`, `at` or the end", fail).parse_next(input);
        }
        description(input)?;
    }
    Ok(statement)
}

/// `monotone(curve over coordinate above bound, falling)`, of which the last two are optional.
fn monotone(input: &mut &str) -> ModalResult<Relation> {
    keyword("monotone").parse_next(input)?;
    sign("(").parse_next(input)?;
    let curve = expected("the name of a curve", name).parse_next(input)?;
    expected("`over`", keyword("over")).parse_next(input)?;
    let over = expected("a coordinate", name).parse_next(input)?;
    let mut above = opt(preceded(keyword("above"), expected("a number", quantity)));
    let above = above.parse_next(input)?;
    let falling = preceded(lexeme(","), expected("`falling`", keyword("falling")));
    let falling = opt(falling).parse_next(input)?.is_some();
    sign(")").parse_next(input)?;
    Ok(Relation::Monotone {
        curve,
        over,
        falling,
        above,
    })
}

/// `bimodal(name)`.
fn bimodal(input: &mut &str) -> ModalResult<Relation> {
    keyword("bimodal").parse_next(input)?;
    let of = delimited(sign("("), expected("a name", name), sign(")")).parse_next(input)?;
    Ok(Relation::Bimodal { of })
}

/// `left < right`, `left ~ right within share`, `value in [low, high]` or `curve falls over
/// coordinate`.
fn comparison_of_values(input: &mut &str) -> ModalResult<Relation> {
    let left = sum(input)?;
    if opt((keyword("falls"), keyword("over")))
        .parse_next(input)?
        .is_some()
    {
        let over = expected("a coordinate", name).parse_next(input)?;
        return match left {
            Expr::Name(curve) => Ok(Relation::Falls { curve, over }),
            _ => expected("the name of a curve", fail).parse_next(input),
        };
    }
    if opt(lexeme("~")).parse_next(input)?.is_some() {
        let right = sum(input)?;
        expected("`within`", keyword("within")).parse_next(input)?;
        let within = expected("a number", number).parse_next(input)?;
        return Ok(Relation::Near {
            left,
            right,
            within,
        });
    }
    if opt(keyword("in")).parse_next(input)?.is_some() {
        return range(left, input);
    }
    let forms = "a comparison, `~ ... within`, `in [ ]` or `falls over`";
    let comparison = expected(forms, comparison).parse_next(input)?;
    let right = sum(input)?;
    Ok(Relation::Compare {
        left,
        comparison,
        right,
    })
}

/// `[low, high] unit`, after `in`.
fn range(value: Expr, input: &mut &str) -> ModalResult<Relation> {
    sign("[").parse_next(input)?;
    let low = expected("a number", number).parse_next(input)?;
    sign(",").parse_next(input)?;
    let high = expected("a number", number).parse_next(input)?;
    sign("]").parse_next(input)?;
    let unit = opt(unit).parse_next(input)?;
    let [low, high] = [low, high].map(|value| with_unit(value, unit));
    Ok(Relation::In { value, low, high })
}

/// `every other segment`, `each segment` or `segment in name, name`, after `for`.
fn each(input: &mut &str) -> ModalResult<Each> {
    let segment = || expected("the segment of a name", name);
    let measured = |other| move |segment| Each::Measured { segment, other };
    let every_other = preceded((keyword("every"), keyword("other")), segment());
    let each = preceded(keyword("each"), segment());
    alt((
        every_other.map(measured(true)),
        each.map(measured(false)),
        listed,
    ))
    .parse_next(input)
}

fn listed(input: &mut &str) -> ModalResult<Each> {
    let segment = terminated(name, keyword("in")).parse_next(input)?;
    let first = expected("a name", name).parse_next(input)?;
    let more = preceded(lexeme(","), expected("a name", name));
    let more: Vec<String> = repeat(0.., more).parse_next(input)?;
    let names = std::iter::once(first).chain(more).collect();
    Ok(Each::Listed { segment, names })
}

/// A position and the words of its coordinate, after `at`: `100 packets a flow`.
fn position(input: &mut &str) -> ModalResult<Scope> {
    let bound = quantity(input)?;
    let words: Vec<&str> = repeat(1.., plain_word).parse_next(input)?;
    Ok(Scope {
        coordinate: words.join(" "),
        comparison: Comparison::Equal,
        bound,
    })
}

/// A coordinate and its bound, after `at`: `load >= .9`.
fn bound(input: &mut &str) -> ModalResult<Scope> {
    Ok(Scope {
        coordinate: name(input)?,
        comparison: comparison(input)?,
        bound: quantity(input)?,
    })
}

/// Skips words that only describe, up to the next `for` or `at`.
fn description(input: &mut &str) -> ModalResult<()> {
    repeat(0.., alt((plain_word.void(), number.void()))).parse_next(input)
}

fn sum(input: &mut &str) -> ModalResult<Expr> {
    separated_foldl1(product, lexeme(one_of(['+', '-'])), binary).parse_next(input)
}

fn product(input: &mut &str) -> ModalResult<Expr> {
    let operand = expected("a number or a name", operand);
    separated_foldl1(operand, lexeme(one_of(['*', '/'])), binary).parse_next(input)
}

fn operand(input: &mut &str) -> ModalResult<Expr> {
    let brackets = delimited(lexeme("("), sum, sign(")"));
    alt((
        brackets,
        quantity.map(Expr::Number),
        call,
        name.map(Expr::Name),
    ))
    .parse_next(input)
}

fn call(input: &mut &str) -> ModalResult<Expr> {
    let name = terminated(word, lexeme("(")).parse_next(input)?;
    let known = CALLS.iter().find(|(known, _)| *known == name);
    let (_, call) = known.ok_or_else(|| {
        let unknown = UnknownFunction(name.to_owned());
        ErrMode::Cut(ContextError::from_external_error(input, unknown))
    })?;
    let mut arguments = vec![argument(input)?];
    while opt(lexeme(",")).parse_next(input)?.is_some() {
        arguments.push(argument(input)?);
    }
    sign(")").parse_next(input)?;
    Ok(Expr::Call(*call, arguments))
}

/// A sum, or whether one is greater than another.
fn argument(input: &mut &str) -> ModalResult<Expr> {
    let greater = lexeme(terminated('>', not('=')));
    separated_foldl1(sum, greater, binary).parse_next(input)
}

fn binary(left: Expr, operation: char, right: Expr) -> Expr {
    Expr::Binary(Box::new(left), operation, Box::new(right))
}

fn comparison(input: &mut &str) -> ModalResult<Comparison> {
    alt((
        lexeme("<=").value(Comparison::AtMost),
        lexeme(">=").value(Comparison::AtLeast),
        lexeme("==").value(Comparison::Equal),
        lexeme("<").value(Comparison::Less),
        lexeme(">").value(Comparison::Greater),
    ))
    .parse_next(input)
}

/// A number with its unit, if one follows.
fn quantity(input: &mut &str) -> ModalResult<Quantity> {
    (number, opt(unit))
        .map(|(value, unit)| with_unit(value, unit))
        .parse_next(input)
}

fn with_unit(value: f64, unit: Option<Unit>) -> Quantity {
    Quantity {
        value: value * unit.map_or(1.0, |unit| unit.factor),
        dimension: unit.map(|unit| unit.dimension),
    }
}

fn unit(input: &mut &str) -> ModalResult<Unit> {
    let name = take_while(1.., |c: char| c.is_alphanumeric() || c == '/');
    lexeme(name.verify_map(Unit::named)).parse_next(input)
}

fn number(input: &mut &str) -> ModalResult<f64> {
    let digits = take_while(1.., |c: char| c.is_ascii_digit() || c == '.');
    lexeme(digits.verify_map(|digits: &str| digits.parse().ok())).parse_next(input)
}

/// A word that does not begin a qualifier.
fn plain_word<'a>(input: &mut &'a str) -> ModalResult<&'a str> {
    word.verify(|word: &str| word != "for" && word != "at")
        .parse_next(input)
}

fn name(input: &mut &str) -> ModalResult<String> {
    word.map(ToOwned::to_owned).parse_next(input)
}

/// A name with its dots, or any word.
fn word<'a>(input: &mut &'a str) -> ModalResult<&'a str> {
    let first = one_of(|c: char| c.is_alphabetic() || c == '_');
    lexeme((first, take_while(0.., is_in_word)).take()).parse_next(input)
}

fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '.' || c == '_'
}

fn keyword<'a>(keyword: &'static str) -> impl ModalParser<&'a str, (), ContextError> {
    word.verify(move |word: &str| word == keyword).void()
}

/// A sign without which the text is not a rule.
fn sign<'a>(sign: &'static str) -> impl ModalParser<&'a str, &'a str, ContextError> {
    let expected_sign = match sign {
        "(" => "`(`",
        ")" => "`)`",
        "[" => "`[`",
        "]" => "`]`",
        _ => "`,`",
    };
    expected(expected_sign, lexeme(literal(sign)))
}

/// The parser, then white space.
fn lexeme<'a, O>(
    parser: impl ModalParser<&'a str, O, ContextError>,
) -> impl ModalParser<&'a str, O, ContextError> {
    terminated(parser, multispace0)
}

/// The parser; without a match the text is not a rule, and `what` was expected.
fn expected<'a, O>(
    what: &'static str,
    parser: impl ModalParser<&'a str, O, ContextError>,
) -> impl ModalParser<&'a str, O, ContextError> {
    cut_err(parser).context(StrContext::Expected(Description(what)))
}
