use super::*;

fn part(text: &str) -> Part {
    let rule: Rule = text.parse().unwrap();
    rule.parts[0].clone()
}

fn bare(value: f64) -> Quantity {
    Quantity {
        value,
        dimension: None,
    }
}

fn name(name: &str) -> Expr {
    Expr::Name(name.to_owned())
}

fn binary(left: Expr, operation: char, right: Expr) -> Expr {
    Expr::Binary(Box::new(left), operation, Box::new(right))
}

#[test]
fn the_ledger_of_the_five_papers_is_parsed_with_its_rules() {
    let ledger = Ledger::parse(CLAIMS, "claims.toml").unwrap();
    let papers: std::collections::BTreeSet<&str> = ledger.claims.iter().map(Claim::paper).collect();
    let all = ["delay_centric", "diversity", "multitcp", "ppd", "psp"];
    assert_eq!(papers.into_iter().collect::<Vec<_>>(), all);
    let rules = ledger.claims.iter().filter_map(Claim::rule);
    let parts = rules.flat_map(|rule| rule.unwrap().parts);
    let remarks: Vec<String> = parts
        .filter(|part| part.relation.is_none())
        .map(|part| part.text)
        .collect();
    assert_eq!(remarks, ["the paper's plain rule is reported next to it"]);
}

#[test]
fn the_own_claims_follow_those_of_the_papers() {
    let all = Ledger::built_in().unwrap().claims;
    let papers = Ledger::parse(CLAIMS, "claims.toml").unwrap().claims.len();
    assert!(!all[..papers].iter().any(Claim::is_own));
    assert!(all[papers..].iter().all(Claim::is_own));
    let ids: std::collections::BTreeSet<&str> = all.iter().map(|claim| claim.id.as_str()).collect();
    assert_eq!(ids.len(), all.len());
}

#[test]
fn a_bound_allows_all_on_its_side_and_has_no_tolerance() {
    let ledger = Ledger::built_in().unwrap();
    let late = ledger.find("own.media.late_200").unwrap();
    assert!(late.allows(0, 0.0) && late.allows(0, 0.02) && !late.allows(0, 0.021));
    let goodput = ledger.find("own.aggregate.equal").unwrap();
    assert!(goodput.allows(0, 1e9) && !goodput.allows(0, 84.9));
    let bound = |more: &str| {
        let claim = format!(
            "[[claim]]\nid = \"own.x\"\nwhere = \"\"\nkind = \"most\"\nsays = \"\"\nvalue = [1.0]\n\
             unit = \"s\"\n{more}"
        );
        Ledger::parse(&claim, "own.toml")
    };
    assert!(bound("").is_ok());
    for (more, named) in [("tol = 0.1", "`tol`"), ("bounds = [[0, 1]]", "`bounds`")] {
        let error = bound(more).unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
    }
    assert!(bound("rule = \"a < b\"").is_err());
}

#[test]
fn a_comparison_has_its_precedence_and_units() {
    let part = part("a.load0 - 2 * a.load99 / b < 2 ms");
    let product = binary(
        binary(Expr::Number(bare(2.0)), '*', name("a.load99")),
        '/',
        name("b"),
    );
    assert_eq!(
        part.relation,
        Some(Relation::Compare {
            left: binary(name("a.load0"), '-', product),
            comparison: Comparison::Less,
            right: Expr::Number(Quantity {
                value: 0.002,
                dimension: Some(Dimension::Time),
            }),
        })
    );
}

#[test]
fn qualifiers_select_names_and_positions() {
    let every = part("x.p < x.s for every other s at rho >= .9");
    let other = |other| Each::Measured {
        segment: "s".to_owned(),
        other,
    };
    assert_eq!(every.each, other(true));
    let scope = every.scope.unwrap();
    assert_eq!((scope.coordinate.as_str(), scope.bound), ("rho", bare(0.9)));
    assert_eq!(
        part("monotone(x.s over load) for each s").each,
        other(false)
    );
    let listed = part("x.s < 0.7 * x.tcp for s in ppd1, ppd2");
    let names = vec!["ppd1".to_owned(), "ppd2".to_owned()];
    let segment = "s".to_owned();
    assert_eq!(listed.each, Each::Listed { segment, names });
    let described = part("auc >= 0.95 for the default detector at the end");
    assert_eq!((described.each, described.scope), (Each::Once, None));
    let placed = part("x >= 2 * y at 100 packets a flow for the default detector");
    assert_eq!(placed.each, Each::Once);
    let scope = placed.scope.unwrap();
    assert_eq!(scope.coordinate, "packets a flow");
    assert_eq!(
        (scope.comparison, scope.bound),
        (Comparison::Equal, bare(100.0))
    );
}

#[test]
fn forms_of_curves_are_parsed() {
    let monotone = |over: &str, falling, above: Option<f64>| Relation::Monotone {
        curve: "loss".to_owned(),
        over: over.to_owned(),
        falling,
        above: above.map(bare),
    };
    let read = |text| part(text).relation.unwrap();
    assert_eq!(read("monotone(loss over s)"), monotone("s", false, None));
    assert_eq!(
        read("monotone(loss over s, falling)"),
        monotone("s", true, None)
    );
    assert_eq!(
        read("monotone(loss over rho above .75)"),
        monotone("rho", false, Some(0.75))
    );
    let (curve, over) = ("loss".to_owned(), "time".to_owned());
    assert_eq!(
        read("loss falls over time"),
        Relation::Falls { curve, over }
    );
    let rate = |value| Quantity {
        value,
        dimension: Some(Dimension::Rate),
    };
    let range = Relation::In {
        value: name("loss"),
        low: rate(760e3),
        high: rate(840e3),
    };
    assert_eq!(read("loss in [760, 840] kb/s"), range);
}

#[test]
fn a_syntax_error_has_its_place() {
    let wrong = |text: &str| text.parse::<Rule>().unwrap_err().to_string();
    assert_eq!(
        wrong("a < ; b > c"),
        "expected a number or a name at the end of `a <`"
    );
    assert_eq!(
        wrong("a < 2 b"),
        "expected `for`, `at` or the end before `b` of `a < 2 b`"
    );
    assert_eq!(wrong("sin(a) < 2"), "there is no function `sin`");
    assert_eq!(wrong("a § b"), "`§` has no meaning in `a § b`");
    assert_eq!(wrong("all is well"), "it states no relation");
}

#[test]
fn all_problems_of_a_ledger_are_reported() {
    let text = "
[[claim]]
id = \"a\"
where = \"1\"
kind = \"value\"
says = \"one\"
value = [1.0, 2.0]
unit = \"s, s, s\"
tol = 0.1
bounds = [[1, 2]]

[[claim]]
id = \"a\"
where = \"2\"
kind = \"ordr\"
says = \"two\"
rule = \"x <\"

[[claim]]
id = \"b\"
where = \"3\"
kind = \"shape\"
says = \"three\"
tol = 0.1
rule = \"x <\"
";
    let errors = Ledger::parse(text, "my.toml").unwrap_err().to_string();
    for wanted in [
        "my.toml:8:",
        "`a` has 2 values and the unit `s, s, s`",
        "did you mean `order`",
        "two claims `a`",
        "either `tol` or `bounds`",
        "`tol` has no effect on a claim with a rule",
        "the rule of `b`: expected a number or a name",
    ] {
        assert!(errors.contains(wanted), "{wanted}: {errors}");
    }
}

#[test]
fn units_are_those_of_each_value() {
    let ledger = Ledger::parse(CLAIMS, "claims.toml").unwrap();
    let units = |id| ledger.find(id).unwrap().units();
    assert_eq!(units("psp.fig8_9.sixteen"), ["Mb/s", "Mb/s", "ratio", "us"]);
    assert_eq!(units("ppd.fig3.at_95"), ["s"; 4]);
    assert_eq!(ledger.value("ppd.fig3.at_95", 3), Some(4.5));
    assert_eq!(ledger.value("ppd.fig3.order", 0), None);
}
