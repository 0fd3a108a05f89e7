use super::*;

fn curve(name: &str, points: &[(f64, f64, f64)]) -> Series {
    let point = |&(x, y, half): &(f64, f64, f64)| Point {
        x,
        y,
        ci95: (half > 0.0).then_some(half),
    };
    Series {
        name: name.to_owned(),
        points: points.iter().map(point).collect(),
        look: Look::Line,
    }
}

fn stated(of: &str, x: f64, y: f64) -> Stated {
    Stated {
        of: of.to_owned(),
        x,
        y,
    }
}

fn axis(label: &str, unit: &str) -> Axis {
    Axis {
        label: label.to_owned(),
        unit: unit.to_owned(),
        ..Axis::default()
    }
}

fn plot() -> Plot {
    Plot {
        id: "fig3".to_owned(),
        title: "Transfer time & load".to_owned(),
        x: axis("load", ""),
        y: axis("transfer time", "s"),
        series: vec![
            curve(
                "tcp",
                &[(0.6, 2.0, 0.1), (0.8, 4.0, 0.5), (0.95, 30.0, 6.0)],
            ),
            curve(
                "ppd-tcp2",
                &[(0.6, 1.5, 0.1), (0.8, 2.0, 0.2), (0.95, 5.0, 0.5)],
            ),
        ],
        stated: vec![stated("tcp", 0.95, 35.0), stated("ppd-tcp2", 0.95, 4.5)],
        stated_as: None,
        panels: Vec::new(),
        columns: None,
    }
}

/// The number of elements with this colour.
fn count(svg: &str, tag: &str, color: &str) -> usize {
    let tags = svg.lines().filter(|line| line.starts_with(tag));
    tags.filter(|line| line.contains(color)).count()
}

/// The colours of the first and the second curve.
const COLORS: [&str; 2] = ["#000000", "#E69F00"];

#[test]
fn each_curve_and_reference_point_is_in_the_picture() {
    let svg = plot().svg().unwrap();
    for (color, text) in COLORS.into_iter().zip(["\ntcp\n", "\nppd-tcp2\n"]) {
        assert_eq!(count(&svg, "<polygon", color), 1, "band");
        assert_eq!(
            count(&svg, "<circle", color),
            3 + 1,
            "points, and one in the legend"
        );
        // The curve, its symbol in the legend, and the diamond.
        assert_eq!(count(&svg, "<polyline", color), 3);
        assert!(svg.contains(text), "{text}");
    }
    for text in [
        "Transfer time &amp; load",
        "transfer time (s)",
        "\nload\n",
        "\npaper\n",
    ] {
        assert!(svg.contains(text), "{text}");
    }
    assert_eq!(svg, plot().svg().unwrap(), "the same twice");
}

#[test]
fn panels_are_two_in_a_row_with_their_own_titles_and_axes() {
    let panel = |title: &str| Plot {
        title: title.to_owned(),
        ..plot()
    };
    let picture = Plot {
        title: "Side by side".to_owned(),
        panels: ["first", "second", "third"].map(panel).to_vec(),
        ..Plot::default()
    };
    let svg = picture.svg().unwrap();
    let places = |svg: &str| {
        let inner = svg
            .lines()
            .filter_map(|line| line.strip_prefix("<svg x=\""));
        let place = |line: &str| {
            let number = |text: &str| text.parse::<u32>().unwrap();
            let (x, rest) = line.split_once("\" y=\"").unwrap();
            (number(x), number(rest.split_once('"').unwrap().0))
        };
        inner.map(place).collect::<Vec<_>>()
    };
    let [title, first, second, third] = places(&svg)[..] else {
        panic!("a title and three panels in {svg}");
    };
    let three = Plot {
        columns: Some(3),
        ..picture.clone()
    };
    let in_one_row = &places(&three.svg().unwrap())[1..];
    assert!(in_one_row.iter().all(|place| place.1 == in_one_row[0].1));
    assert_eq!((title, first.0, second.1, third.0), ((0, 0), 0, first.1, 0));
    assert!(second.0 > 0 && third.1 > first.1 && first.1 > 0);
    for text in ["\nSide by side\n", "\nfirst\n", "\nthird\n"] {
        assert!(svg.contains(text), "{text}");
    }
    assert_eq!(count(&svg, "<polygon", COLORS[0]), 3);
    let sheet = picture.csv();
    assert_eq!(sheet.lines().count(), 1 + 3 * 8);
    assert!(sheet.contains("\nsecond: tcp,0.6,2,0.1\n"));
    assert!(sheet.contains("\nthird: paper: tcp,0.95,35,\n"));
}

#[test]
fn a_legend_without_room_is_below() {
    let height = |plot: &Plot| {
        let svg = plot.svg().unwrap();
        let height = svg.split("height=\"").nth(1).unwrap();
        height.split('"').next().unwrap().parse::<u32>().unwrap()
    };
    let mut picture = plot();
    assert_eq!(height(&picture), 360);
    let zigzag = (0..40).map(|n| (f64::from(n), 36.0 * f64::from(n % 2), 0.0));
    picture
        .series
        .push(curve("everywhere", &zigzag.collect::<Vec<_>>()));
    picture.stated.clear();
    assert_eq!(height(&picture), 360 + 20 + 5);
}

#[test]
fn values_outside_the_axes_are_listed() {
    let mut picture = plot();
    picture.y.is_log = true;
    picture.series[0].points[1].y = 0.0;
    picture.series[1].points[0].y = f64::NAN;
    picture.stated[1].y = -4.5;
    let svg = picture.svg().unwrap();
    for name in ["tcp", "ppd-tcp2", "the paper"] {
        let text =
            format!("Not drawn: 1 point of {name}, not a number above 0 on a logarithmic axis.");
        assert!(svg.contains(&text), "{text}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    // No line goes through what is missing: the first curve has two single points with their
    // intervals and a diamond, the second, whose first point is missing, a line; both have a sign
    // in the legend.
    assert_eq!(count(&svg, "<polyline", COLORS[0]), 2 + 1 + 1);
    assert_eq!(count(&svg, "<polyline", COLORS[1]), 1 + 1);
    picture.y.is_log = false;
    picture.x.range = Some([0.5, 0.9]);
    assert!(
        picture
            .svg()
            .unwrap()
            .contains("Beyond the axes: 2 points of the paper.")
    );
}

#[test]
fn pictures_of_next_to_nothing_are_drawn() {
    let mut picture = plot();
    picture.stated.clear();
    for series in &mut picture.series {
        series.points.truncate(1);
    }
    let svg = picture.svg().unwrap();
    assert_eq!(count(&svg, "<circle", COLORS[0]), 1 + 1);
    for series in &mut picture.series {
        series.points.clear();
    }
    assert!(picture.svg().unwrap().contains("There are no points."));
    assert!(
        Plot::default()
            .svg()
            .unwrap()
            .contains("There are no points.")
    );
    picture.stated.push(stated("another scheme", 1.0, 2.0));
    assert!(picture.svg().unwrap().contains("paper: another scheme"));
    for look in [Look::Trace, Look::Dots, Look::Marks] {
        let mut picture = plot();
        picture.series[0].look = look;
        let bands = usize::from(look == Look::Trace);
        assert_eq!(count(&picture.svg().unwrap(), "<polygon", COLORS[0]), bands);
    }
}

#[test]
fn the_csv_has_the_points_of_the_picture() {
    let mut picture = plot();
    picture.series[0].name = "tcp, \"plain\"".to_owned();
    picture.series[0].points[0].y = 0.1 + 0.2;
    picture.stated.push(stated("", 0.7, f64::NAN));
    let text = picture.csv();
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<::csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!(reader.headers().unwrap(), vec!["series", "x", "y", "ci95"]);
    assert_eq!(rows.len(), 6 + 3);
    let points = picture
        .series
        .iter()
        .flat_map(|s| s.points.iter().map(|p| (&s.name, p)));
    for ((name, point), row) in points.zip(&rows) {
        let number = |n: usize| row[n].parse::<f64>().ok();
        assert_eq!(&row[0], name.as_str());
        assert_eq!((number(1), number(2)), (Some(point.x), Some(point.y)));
        assert_eq!(number(3), point.ci95);
    }
    assert_eq!(rows[6], vec!["paper: tcp", "0.95", "35", ""]);
    assert_eq!(rows[8], vec!["paper", "0.7", "", ""]);
    assert_eq!(Plot::default().csv(), "series,x,y,ci95\n");
}

#[test]
fn a_long_trace_is_drawn_with_its_visible_points() {
    let trace = |n: u32| {
        let points = (0..=n).map(|k| (f64::from(k) / f64::from(n), f64::from(k % 2), 0.0));
        let still = (0..n).map(|k| (1.0 + f64::from(k) / f64::from(n), 0.5, 0.0));
        let mut picture = plot();
        picture.stated.clear();
        picture.series = vec![curve("rate", &points.chain(still).collect::<Vec<_>>())];
        picture.series[0].look = Look::Trace;
        picture
    };
    let drawn = |picture: &Plot| {
        let svg = picture.svg().unwrap();
        let lines = svg.lines().filter(|line| line.starts_with("<polyline"));
        lines.map(|line| line.matches(',').count()).max().unwrap()
    };
    // All swings, and of what stays where it is no more than the pixels.
    let drawn = drawn(&trace(4000));
    assert!((4000..4000 + 1024).contains(&drawn), "{drawn}");
    assert_eq!(
        trace(4000).csv().lines().count(),
        1 + 8001,
        "the sheet has all"
    );
}

#[test]
fn reference_points_have_the_name_that_the_picture_gives_them() {
    let plot = Plot {
        stated_as: Some("recommended"),
        stated: vec![stated("tcp", 0.8, 4.0)],
        ..plot()
    };
    let svg = plot.svg().unwrap();
    assert!(svg.contains("recommended") && !svg.contains("paper"));
    assert!(plot.csv().contains("recommended: tcp,0.8,4,"));
}
