use serde_json::json;

use super::*;
use crate::fixture::{HOSTILE, assert_escaped};

/// A point with a group and a link, whose goodput in Mbit/s is given.
pub(crate) fn point(set: &[(&str, &str)], goodput: f64, half: f64) -> SweepPoint {
    let of = |mean: f64, half: f64| json!({ "mean": mean, "ci95": half, "n": 5 });
    let set = set
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    SweepPoint {
        set: set.collect(),
        report: Ok(json!({
            "seeds": [1, 2, 3, 4, 5],
            "groups": [{
                "name": "bulk <1>",
                "goodput_bits_s": of(goodput * 1e6, half * 1e6),
                "delay_s": of(0.02, 0.001),
            }],
            "links": [{ "name": "narrow", "packets_in": 9, "load": of(0.9, 0.01) }],
        })),
    }
}

fn page(points: &[SweepPoint]) -> String {
    render("small", Kind::Network, points)
        .unwrap()
        .replace("&#x2f;", "/")
}

fn over_queues() -> Vec<SweepPoint> {
    [
        ("10 packets", 1.0),
        ("20 packets", 1.05),
        ("50 packets", 3.0),
    ]
    .map(|(queue, goodput)| point(&[("link.0.queue", queue)], goodput, 0.1))
    .into()
}

#[test]
fn each_quantity_is_drawn_over_the_swept_parameter() {
    let page = page(&over_queues());
    for text in [
        "Chart: Goodput, in Mbit/s; bulk &lt;1&gt;: 3 points from 1.000 to 3.000",
        "Chart: One-way delay, in ms",
        "Chart: Load, in %; narrow: 3 points from 90.000 to 90.000",
        "link.0.queue (packets)",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert_eq!(
        page.matches("<svg").count(),
        3,
        "quantities without values are left out"
    );
    assert_eq!(page.matches("<tr><th scope=\"row\">").count(), 3 + 3);
    for outside in ["<script", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn points_are_compared_with_the_first() {
    let points = over_queues();
    let sentences = conclusion(Kind::Network, &points);
    let wanted = [
        "The first point is queue=10 packets.",
        "Goodput of bulk <1> was 1.00 Mbit/s (0.90 to 1.10 Mbit/s) there; at queue=20 packets it \
         showed no difference (-0.07 to 0.17 Mbit/s includes zero); at queue=50 packets it was higher \
         by 2.00 Mbit/s (95 % confidence: 1.88 to 2.12 Mbit/s).",
        "One-way delay of bulk <1> was 20.0 ms (19.0 to 21.0 ms) there; at queue=20 packets it \
         showed no difference (-1.2 to 1.2 ms includes zero); at queue=50 packets it showed no difference (-1.2 to \
         1.2 ms includes zero).",
        "The intervals are those of 5 replicas a point (95 % confidence).",
    ];
    assert_eq!(sentences, wanted);
    let page = page(&points);
    assert_eq!(page.matches("n.s.</abbr>").count(), 1);
}

#[test]
fn two_parameters_give_lines_and_a_heat_map() {
    let queues = ["10 packets", "20 packets", "50 packets"];
    let variants = ["reno", "sack", "cubic"];
    let all = queues.iter().enumerate().flat_map(|(n, queue)| {
        let of = move |(m, variant): (usize, &&str)| {
            let goodput = 1.0 + n as f64 + 0.1 * m as f64;
            point(
                &[("link.0.queue", queue), ("tcp.variant", variant)],
                goodput,
                0.01,
            )
        };
        variants.iter().enumerate().map(of)
    });
    let points: Vec<SweepPoint> = all.collect();
    let page = page(&points);
    for variant in variants {
        assert!(
            page.contains(&format!("variant={variant}: 3 points")),
            "{variant}"
        );
    }
    assert_eq!(
        page.matches("<table class=\"heat\">").count(),
        2,
        "a group and a link"
    );
    assert!(page.contains("background:#f7fbff") && page.contains("background:#6baed6"));
}

#[test]
fn failed_points_are_counted_and_not_drawn() {
    let mut points = over_queues();
    points[0].report = Err("overflow".to_owned());
    let sentences = conclusion(Kind::Network, &points);
    assert_eq!(sentences[0], "The first point is queue=20 packets.");
    assert!(sentences.contains(&"1 of 3 points failed and is not compared.".to_owned()));
    assert!(page(&points).contains("2 points from"));
    for point in &mut points {
        point.report = Err("overflow".to_owned());
    }
    let sentences = conclusion(Kind::Network, &points);
    assert!(sentences[0].starts_with("All 3 points failed") && sentences.len() == 1);
    page(&points);
}

#[test]
fn a_single_point_has_a_table_and_no_picture() {
    let points = [point(&[("seed", "7")], 1.0, 0.1)];
    let page = page(&points);
    assert!(page.contains("A single point") && !page.contains("<svg"));
    assert!(page.contains("nothing to compare it with"));
}

/// Three points of transfers: faster, no difference, and timed out.
pub(crate) fn of_transfers(scheme: &str) -> [SweepPoint; 3] {
    let at = |size: &str, mean: f64, timed_out: u32| SweepPoint {
        set: vec![("transfer.size".to_owned(), size.to_owned())],
        report: Ok(json!({
            "seed": 1,
            "schemes": [
                { "name": "tcp", "transfer_s": { "mean": 2.0, "ci95": 0.5, "n": 8 } },
                {
                    "name": scheme,
                    "timed_out": timed_out,
                    "transfer_s": { "mean": 2.0 + mean, "ci95": 0.5, "n": 8 },
                    "difference_to_tcp_s": { "mean": mean, "ci95": 0.5, "n": 8 },
                    "difference_to_tcp_bound": if timed_out > 0 { "neither" } else { "exact" },
                    "prebuffer_s": 0.3,
                    "prebuffer_ci95_s": 0.1,
                    "harm": { "mean": 0.98, "ci95": 0.03, "n": 8 },
                },
            ],
        })),
    };
    [
        at("50 kB", -1.0, 0),
        at("80 kB", 0.2, 0),
        at("90 kB", 1.0, 2),
    ]
}

#[test]
fn names_are_escaped() {
    assert_escaped(&render("transfers", Kind::Transfers, &of_transfers(HOSTILE)).unwrap());
    let value = [("tcp.variant", HOSTILE)];
    let points = [
        point(&value, 1.0, 0.1),
        point(&[("tcp.variant", "reno")], 2.0, 0.1),
    ];
    assert_escaped(&render(HOSTILE, Kind::Network, &points).unwrap());
}

#[test]
fn transfers_are_compared_with_plain_tcp_at_each_point() {
    let points = of_transfers("ppd-tcp2");
    let sentences = conclusion(Kind::Transfers, &points);
    let wanted = [
        "ppd-tcp2 at 1 of 3 points was faster than tcp, by 1.0 s (size=50 kB) with 95 % \
         confidence; ppd-tcp2 at 1 of 3 points showed no difference from tcp (the interval \
         includes zero: size=80 kB); ppd-tcp2 at 1 of 3 points cannot be compared, since transfers \
         timed out: size=90 kB.",
        "Differences are paired over 8 rounds a point, seed 1.",
    ];
    assert_eq!(sentences, wanted);
    let page = render("transfers", Kind::Transfers, &points).unwrap();
    assert_eq!(
        page.matches("n.s.</abbr>").count(),
        1 + 3,
        "a difference and each harm"
    );
    assert!(page.contains("≥ 3.000 ± 0.500") && page.contains("~ 1.000 ± 0.500"));
    assert!(page.contains("Chart: Pre-buffer") && page.contains("0.300 ± 0.100"));
}
