use super::*;
use crate::fixture::with_network;

const FAST: &str = r#"schema = 1
name = "fast"
run = { duration = "1 s", warm_up = "100 ms" }
[[link]]
name = "backbone-of-the-site"
from = "a"
to = "b"
rate = "1 Gbit/s"
delay = "20 ms"
loss = 0.001
queue = "1000 packets"
[[flow]]
name = "bulk-transfers"
count = 20
from = "a"
to = "b"
traffic = { kind = "ftp" }
tcp = { receiver_window = 1000 }
"#;

fn rendered(text: &str, seeds: &[u64]) -> String {
    with_network(text, seeds, |record| {
        render(record, &NetworkFigures::of(record))
    })
}

#[test]
fn it_fits_into_80_columns() {
    let name = |begin: &str| format!("{begin}{}", "-long".repeat(11));
    let long = FAST.replace("backbone-of-the-site", &name("backbone"));
    let long = long.replace("bulk-transfers", &name("bulk"));
    let with_files = |text: &str| {
        let text = text.replace("warm_up", "percentiles = true, warm_up");
        text.replace(
            "{ kind = \"ftp\" }",
            "{ kind = \"sessions\", idle = \"10 ms\", file = { mu = 9.0, sigma = 1.0 } }",
        )
    };
    let files = [FAST, &long].map(with_files);
    for (network, has_files) in [
        (FAST, false),
        (&long, false),
        (&files[0], true),
        (&files[1], true),
    ] {
        for seeds in [&[1][..], &[1, 2]] {
            let text = rendered(network, seeds);
            assert_eq!(text.contains("95 % within"), has_files, "{text}");
            assert_eq!(text.contains("delay within"), has_files, "{text}");
            let width = text.lines().map(|line| line.chars().count()).max();
            assert!(width.is_some_and(|width| width <= 80), "{text}");
            assert!(text.contains("900 ms after a warm-up of 100 ms"), "{text}");
        }
    }
}

#[test]
fn correlated_spans_of_a_single_run_are_reported() {
    let warning = "the goodput of calls\nis correlated from span to span";
    let calls = r#"[[flow]]
name = "calls"
from = "b"
to = "a"
start = "500 ms"
traffic = { kind = "cbr", packet = "200 B", interval = "1 ms" }
"#;
    let late = format!("{FAST}{calls}");
    assert!(rendered(&late, &[1]).contains(warning));
    assert!(!rendered(&late, &[1, 2]).contains(warning));
    let always = late.replace("start = \"500 ms\"", "start = \"0 s\"");
    assert!(!rendered(&always, &[1]).contains(warning));
}

/// In the second half each segment waits for the ACK of the one before.
#[test]
fn correlated_completion_times_of_a_single_run_are_reported() {
    let traffic = "{ kind = \"sessions\", idle = \"10 ms\", file = { mu = 9.0, sigma = 0.1 } }";
    let steady = FAST.replace("{ kind = \"ftp\" }", traffic);
    let steady = steady.replace("\"1 s\"", "\"5 s\"");
    let warning = "the completion time of bulk-transfers\nis correlated from span to span";
    assert!(!rendered(&steady, &[1]).contains(warning));
    let slower = format!("{steady}receiver_window = [{{ at = \"2500 ms\", window = 1 }}]\n");
    let text = rendered(&slower, &[1]);
    assert!(text.contains(warning), "{text}");
    assert!(!rendered(&slower, &[1, 2]).contains(warning));
}

#[test]
fn replicas_show_the_counts_of_one_run() {
    let again = |text: &str| -> f64 {
        let mut rows = text
            .lines()
            .filter(|line| line.starts_with("bulk-transfers"));
        let counts = rows.next_back().unwrap().split_whitespace().nth(1);
        counts.unwrap().parse().unwrap()
    };
    let both = rendered(FAST, &[1, 2]);
    assert!(both.contains("counts are means of a run"), "{both}");
    let single = [1, 2].map(|seed| {
        let text = rendered(FAST, &[seed]);
        let mut rows = text
            .lines()
            .filter(|line| line.starts_with("bulk-transfers"));
        let mut counts = rows.next_back().unwrap().split_whitespace().rev();
        counts.nth(1).unwrap().parse::<f64>().unwrap()
    });
    let mean = f64::midpoint(single[0], single[1]);
    assert!((again(&both) - mean).abs() <= 0.5, "{both}\n{single:?}");
}

#[test]
fn no_warm_up_is_none_of_0_ns() {
    let text = rendered(&FAST.replace(", warm_up = \"100 ms\"", ""), &[1]);
    assert!(text.contains("seed 1, 1 s without a warm-up;"), "{text}");
}

#[test]
fn long_names_keep_both_ends() {
    let long = FAST.replace(
        "bulk-transfers",
        &format!("bulk{}-end", "-transfers".repeat(5)),
    );
    let text = rendered(&long, &[1]);
    assert!(text.contains("\nbulk-tran…sfers-end "), "{text}");
    assert!(
        text.contains("\nbackbone-of-the-site/back "),
        "a name of 25 characters is whole"
    );
}

#[test]
fn marks_and_drop_reasons_follow_the_links() {
    let quiet = FAST.replace("loss = 0.001", "");
    let quiet = rendered(
        &quiet.replace("receiver_window = 1000", "receiver_window = 10"),
        &[1],
    );
    assert!(!quiet.contains("outcome"), "{quiet}");
    let text = rendered(FAST, &[1]);
    let row = |text: &str, outcome: &str| -> Option<Vec<String>> {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        let mut rows = text.lines().map(words);
        rows.find(|row: &Vec<String>| row.get(1).is_some_and(|word| word == outcome))
    };
    let random = row(&text, "random").expect("there is loss");
    assert!(
        random[2].parse::<u32>().is_ok_and(|count| count > 0),
        "{text}"
    );
    assert!(
        row(&text, "outage").is_none() && row(&text, "marked").is_none(),
        "{text}"
    );
    let ecn = FAST.replace(
        "\"1000 packets\"",
        "{ kind = \"red\", limit = \"1000 packets\", min_th = 5, ecn = true }",
    );
    let ecn = ecn.replace(
        "receiver_window = 1000",
        "receiver_window = 1000, ecn = true",
    );
    let text = rendered(&ecn, &[1, 2]);
    let marked = row(&text, "marked").expect("there are marks");
    assert_eq!(marked[3], "+-", "replicas have an interval: {text}");
}

/// The flow is over before the warm-up, and the link then drops of what waits.
#[test]
fn drops_of_packets_from_the_warm_up_are_no_share_of_later_arrivals() {
    let text = FAST
        .replace("1 Gbit/s", "1 Mbit/s")
        .replace("count = 20", "stop = \"90 ms\"")
        .replace(
            "\"1000 packets\"",
            "{ kind = \"codel\", limit = \"1000 packets\" }",
        )
        .replace("tcp = { receiver_window = 1000 }", "")
        .replace(
            "{ kind = \"ftp\" }",
            "{ kind = \"cbr\", packet = \"1000 B\", interval = \"100 us\" }",
        );
    let text = rendered(&text, &[1]);
    let mut rows = text.lines().map(|line| line.split_whitespace().collect());
    let dropped: Option<Vec<&str>> = rows.find(|row: &Vec<&str>| row.get(1) == Some(&"sojourn"));
    let dropped = dropped.unwrap_or_else(|| panic!("nothing is dropped: {text}"));
    assert!(dropped[2].parse::<u32>().is_ok_and(|count| count > 0));
    assert_eq!(dropped[3], "-", "{text}");
}

#[test]
fn a_queue_that_is_configured_for_other_packets_is_reported() {
    let red = |mean: &str| {
        let queue = format!(
            "{{ kind = \"red\", limit = \"1000 packets\", min_th = 5, max_th = 15, mean_packet = \"{mean}\" }}"
        );
        let text = FAST.replace("\"1000 packets\"", &queue);
        rendered(&text.replace("1 Gbit/s", "20 Mbit/s"), &[1])
    };
    let warning = "its packets have 1000 B on average, and `mean_packet` of its queue is 400 B";
    assert!(red("400 B").contains(warning), "{}", red("400 B"));
    assert!(
        !red("500 B").contains("B on average"),
        "twice is ns-2's own default"
    );
}
