use super::super::conclusion::conclusion;
use super::*;
use crate::fixture::{HOSTILE, NARROW, assert_escaped, parsed, with_network, with_runs};

const HEAD: &str = "schema = 1\nname = \"small\"\ntitle = \"Two <kinds>\"\n";

fn flow(name: &str, count: u32, traffic: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\ncount = {count}\nfrom = \"a\"\nto = \"b\"\n\
         traffic = {{ {traffic} }}\n"
    )
}

const FTP: &str = "kind = \"ftp\"";

fn cbr(size: u32) -> String {
    format!("kind = \"cbr\", packet = \"{size} B\", interval = \"20 ms\"")
}

/// The page and the conclusion of a network with these flows.
fn report(batches: u32, flows: &str, seeds: &[u64]) -> (String, Vec<String>) {
    let run = format!("[run]\nduration = \"10 s\"\nwarm_up = \"2 s\"\nbatches = {batches}\n");
    with_network(&format!("{HEAD}{NARROW}{run}{flows}"), seeds, |record| {
        let figures = NetworkFigures::of(record);
        let page = render(record, &figures).unwrap().replace("&#x2f;", "/");
        (page, conclusion(record, &figures))
    })
}

/// The titles of the pictures.
fn titles(page: &str) -> Vec<&str> {
    let texts = page.split("aria-label=\"Chart: ").skip(1);
    texts
        .map(|text| text.split([';', ',']).next().unwrap_or(text))
        .collect()
}

const OVER_TIME: [&str; 5] = [
    "Goodput over time",
    "One-way delay over time",
    "Load over time",
    "Packets that wait over time",
    "Loss over time",
];

const MEANS: [&str; 5] = [
    "Goodput with 95 % intervals",
    "One-way delay with 95 % intervals",
    "Load with 95 % intervals",
    "Loss with 95 % intervals",
    "Packets that wait with 95 % intervals",
];

#[test]
fn the_page_is_self_contained_and_shows_flows_and_links() {
    let (page, sentences) = report(4, &flow("bulk", 1, FTP), &[1]);
    let found = titles(&page);
    for title in OVER_TIME.iter().chain(&MEANS) {
        assert_eq!(
            found.iter().filter(|one| *one == title).count(),
            1,
            "{title}: {found:?}"
        );
    }
    assert_eq!(page.matches("<svg").count(), found.len());
    for outside in ["<script", "src=", "href=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("Two &lt;kinds&gt;") && !page.contains("<th>"));
    for sentence in &sentences {
        assert!(page.contains(sentence), "{sentence}");
    }
    assert!(page.contains("prefers-color-scheme: dark"));
    // The values of the text replace the picture: four spans.
    assert!(
        page.contains("Goodput over time, in Mbit/s; bulk: 4 points from "),
        "{found:?}"
    );
    assert!(page.contains("<th scope=\"row\">narrow</th>"));
}

#[test]
fn the_source_of_the_intervals_is_stated() {
    let (page, sentences) = report(4, &flow("bulk", 1, FTP), &[1]);
    let wanted = "The intervals are those of 4 spans of a single run (95 % confidence, seed 1); \
                  --replicas 20 gives those of independent runs.";
    assert_eq!(sentences.last().unwrap(), wanted);
    assert!(page.contains("the mean of each of the 4 spans of the run"));
    let (page, sentences) = report(4, &flow("bulk", 1, FTP), &[1, 2, 3]);
    let wanted = "The intervals are those of 3 replicas (95 % confidence, root seed 1).";
    assert_eq!(sentences.last().unwrap(), wanted);
    assert!(page.contains("the mean of the replicas in each span"));
}

#[test]
fn groups_are_compared_per_flow_with_the_first() {
    let flows =
        flow("big", 2, &cbr(200)) + &flow("small", 1, &cbr(100)) + &flow("equal", 4, &cbr(200));
    let (page, sentences) = report(4, &flows, &[1]);
    assert!(
        sentences[0].starts_with("big (UDP, 2 flows together) received 0.160 Mbit/s"),
        "{sentences:?}"
    );
    assert!(
        sentences[1].starts_with("All flows over UDP together received 0.52"),
        "{sentences:?}"
    );
    let compared = &sentences[2];
    assert!(
        compared.starts_with("small received less per flow than big by 40"),
        "{compared}"
    );
    assert!(
        compared.contains("; equal showed no difference per flow from big ("),
        "{compared}"
    );
    assert!(compared.contains("exactly 0 "), "{compared}");
    assert_eq!(
        page.matches("n.s.</abbr>").count(),
        1,
        "only the equal ones"
    );
    // A third of three equal goodputs is rounded.
    let flows = flow("one", 1, &cbr(200)) + &flow("three", 3, &cbr(200));
    let (_, sentences) = report(3, &flows, &[1]);
    assert!(
        sentences[2].contains("three showed no difference per flow from one (exactly 0 "),
        "{sentences:?}"
    );
    // Every flow has a row.
    for name in ["big.1", "small", "equal.3"] {
        assert!(
            page.contains(&format!("<th scope=\"row\">{name}</th>")),
            "{name}"
        );
    }
}

#[test]
fn a_network_without_arrivals_supports_no_conclusion() {
    let late = flow("late", 1, "kind = \"ftp\"")
        .replace("to = \"b\"\n", "to = \"b\"\nstart = \"9.999 s\"\n");
    let (page, sentences) = report(4, &late, &[1]);
    assert_eq!(sentences.len(), 1);
    assert!(
        sentences[0].starts_with("No flow received anything"),
        "{sentences:?}"
    );
    assert!(page.contains("<svg"));
}

#[test]
fn many_groups_and_flows_leave_the_pictures_legible() {
    let name = |n: u32| format!("a-group-of-flows-with-quite-a-long-name-{n}");
    let flows: String = (0..12).map(|n| flow(&name(n), 5, &cbr(50 + n))).collect();
    let (page, sentences) = report(4, &flows, &[1]);
    assert!(page.contains(
        "The curves are those of the 6 groups of flows with the highest goodput, of 12."
    ));
    assert!(
        page.contains("6 groups are not drawn"),
        "the ranks of 60 flows"
    );
    assert!(
        sentences[0].starts_with("Of 12 groups of flows "),
        "{sentences:?}"
    );
    let longest = name(0);
    let legend = page.matches(&format!(">\n{longest}\n<")).count();
    assert_eq!(legend, 0, "names in pictures are shortened");
    assert!(
        page.contains(&format!("<th scope=\"row\">{longest}</th>")),
        "but not in tables"
    );
}

#[test]
fn names_are_escaped() {
    let flows = flow("bulk", 2, FTP) + &flow("voice", 1, &cbr(100));
    // Files of users cannot have such names.
    let run = "[run]\nduration = \"4 s\"\n";
    let mut network = parsed(&format!("{HEAD}{NARROW}{run}{flows}"));
    HOSTILE.clone_into(&mut network.flows[0].name);
    HOSTILE.clone_into(&mut network.title);
    let page = with_runs(&network, &[1], |record| {
        render(record, &NetworkFigures::of(record)).unwrap()
    });
    assert_escaped(&page);
}

#[test]
fn equal_runs_give_equal_pages() {
    let flows = flow("bulk", 2, FTP);
    assert_eq!(report(4, &flows, &[1, 2]), report(4, &flows, &[1, 2]));
}
