use super::*;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use crate::clock::processor_time;
use crate::priority;

/// Wakes at a fixed interval and reads bytes from a socket.
struct Ticker {
    next: Time,
    interval: Duration,
    woken: Vec<Time>,
    inputs: Vec<Time>,
    socket: Option<UnixStream>,
    end: Option<(usize, StopHandle)>,
}

impl Ticker {
    fn every(interval: Duration) -> Self {
        Self {
            next: Time::ZERO + interval,
            interval,
            woken: Vec::new(),
            inputs: Vec::new(),
            socket: None,
            end: None,
        }
    }
}

impl EventHandler for Ticker {
    fn deadline(&self) -> Option<Deadline> {
        let why = "tick";
        (self.interval > Duration::ZERO).then_some(Deadline { at: self.next, why })
    }

    fn handle_timeout(&mut self, now: Time) -> io::Result<()> {
        assert!(self.next <= now);
        while self.next <= now {
            self.next += self.interval;
        }
        self.woken.push(now);
        if let Some((count, stop)) = &self.end
            && self.woken.len() == *count
        {
            stop.stop();
        }
        Ok(())
    }

    fn handle_readable(&mut self, _: Token, now: Time, budget: usize) -> io::Result<usize> {
        assert!(
            self.deadline().is_none_or(|d| d.at > now),
            "due work comes first"
        );
        let mut bytes = vec![0; budget];
        let taken = self.socket.as_mut().map_or(Ok(0), |s| s.read(&mut bytes))?;
        self.inputs.extend((0..taken).map(|_| now));
        Ok(taken)
    }
}

#[test]
fn deadlines_are_met_and_never_early() {
    let _quiet = crate::test_lock::exclusive();
    let mut driver = Driver::new(Clock::starting_now()).unwrap();
    let mut ticker = Ticker::every(Duration::from_micros(700));
    ticker.end = Some((50, driver.stop_handle()));
    let report = driver.run(&mut ticker).unwrap();
    assert_eq!(ticker.woken.len(), 50);
    assert_eq!(report.lateness.count(), 50);
    assert!(ticker.woken.is_sorted());
    // A loop that slept in whole milliseconds would be late by half of one.
    assert!(report.lateness.quantile(0.5) < Duration::from_micros(300));
}

/// A handler that has read more than it handles in a turn when its deadline arrives.
struct Behind {
    turns: u32,
    stop: StopHandle,
}

impl EventHandler for Behind {
    fn deadline(&self) -> Option<Deadline> {
        let (at, why) = (Time::ZERO, "after what was read");
        (self.turns > 0).then_some(Deadline { at, why })
    }

    fn has_backlog(&self) -> bool {
        (1..4).contains(&self.turns)
    }

    fn handle_timeout(&mut self, _: Time) -> io::Result<()> {
        self.turns -= 1;
        if self.turns == 0 {
            self.stop.stop();
        }
        Ok(())
    }

    fn handle_readable(&mut self, _: Token, _: Time, _: usize) -> io::Result<usize> {
        Ok(0)
    }
}

#[test]
fn a_deadline_behind_earlier_inputs_is_not_stuck() {
    let mut driver = Driver::new(Clock::starting_now()).unwrap();
    let stop = driver.stop_handle();
    let mut behind = Behind { turns: 4, stop };
    let report = driver.run(&mut behind).unwrap();
    assert_eq!((behind.turns, report.stuck), (0, 0));
    assert_eq!(report.lateness.count(), 1, "it is late once");
}

#[test]
fn a_flood_of_input_does_not_starve_deadlines() {
    let (mut writer, reader) = UnixStream::pair().unwrap();
    reader.set_nonblocking(true).unwrap();
    writer.write_all(&vec![7; 60_000]).unwrap();
    let mut driver = Driver::new(Clock::starting_now()).unwrap();
    driver.watch(&reader, Token(0)).unwrap();
    let mut ticker = Ticker::every(Duration::from_micros(100));
    ticker.socket = Some(reader);
    ticker.end = Some((10, driver.stop_handle()));
    let report = driver.run(&mut ticker).unwrap();
    assert!(ticker.woken.len() >= 10);
    assert_eq!(report.inputs, ticker.inputs.len() as u64);
    assert!(ticker.inputs.is_sorted());
    let (first, last) = (ticker.inputs[0], *ticker.inputs.last().unwrap());
    assert!(last.since(first) > ticker.interval * 5, "no flood");
    // A tick that is late by more than its interval takes the next with it.
    let between = ticker.woken.iter().filter(|t| (first..last).contains(t));
    assert!(between.count() >= 5, "{:?} {first} {last}", ticker.woken);
}

#[test]
fn a_realtime_loop_rests_despite_close_deadlines() {
    let driven = std::thread::spawn(|| {
        let permitted = priority::realtime(1);
        let mut driver = Driver::new(Clock::starting_now()).unwrap();
        let mut ticker = Ticker::every(Duration(SPIN.0 / 3));
        let used = processor_time();
        let end = driver.clock().now() + Duration::from_millis(60);
        let start = driver.clock().now();
        let report = driver.run_until(&mut ticker, end).unwrap();
        let used = processor_time().0 - used.0;
        let share = used as f64 / driver.clock().now().since(start).0 as f64;
        (permitted, share, report.rests)
    });
    let (permitted, share, rests) = driven.join().unwrap();
    if let Err(error) = permitted {
        // The runner shows standard error where the print macros would be captured.
        let _ = writeln!(io::stderr(), "skipped: no real-time priority: {error}");
        assert_eq!(rests, 0);
        return;
    }
    assert!(share < 0.95 && rests > 0, "{share} with {rests} rests");
}

#[test]
fn input_wakes_a_handler_without_a_deadline() {
    let (mut writer, reader) = UnixStream::pair().unwrap();
    reader.set_nonblocking(true).unwrap();
    let mut driver = Driver::new(Clock::starting_now()).unwrap();
    driver.watch(&reader, Token(0)).unwrap();
    let mut idle = Ticker::every(Duration::ZERO);
    idle.socket = Some(reader);
    let stop = driver.stop_handle();
    let sender = std::thread::spawn(move || {
        writer.write_all(&[1, 2, 3]).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
        stop.stop();
        writer
    });
    driver.run(&mut idle).unwrap();
    sender.join().unwrap();
    assert_eq!(idle.inputs.len(), 3);
}

#[test]
fn a_drive_ends_at_its_end() {
    let mut driver = Driver::new(Clock::starting_now()).unwrap();
    let mut idle = Ticker::every(Duration::ZERO);
    driver.run_until(&mut idle, Time(5_000_000)).unwrap();
    assert!(driver.clock().now() >= Time(5_000_000));
}

/// A handler whose deadline does not advance; it stops the loop at the fifth attempt.
struct Stuck(StopHandle, u32, Time);

impl EventHandler for Stuck {
    fn deadline(&self) -> Option<Deadline> {
        Some(Deadline {
            at: self.2,
            why: "stuck",
        })
    }
    fn handle_timeout(&mut self, _: Time) -> io::Result<()> {
        self.1 += 1;
        if self.1 == 5 {
            self.0.stop();
        }
        Ok(())
    }
    fn handle_readable(&mut self, _: Token, _: Time, _: usize) -> io::Result<usize> {
        Ok(0)
    }
}

#[test]
fn a_machine_that_is_stuck_is_counted_and_does_not_spin() {
    let clock = Clock::starting_now();
    let mut driver = Driver::new(clock).unwrap();
    // In the future, so that the timer has been armed and has fired when the machine is found
    // stuck.
    let due = clock.now() + Duration::from_millis(2);
    let mut stuck = Stuck(driver.stop_handle(), 0, due);
    let report = driver.run(&mut stuck).unwrap();
    assert!(report.stuck >= 5);
    let slept = clock.now().since(due);
    assert!(
        slept >= Duration::from_millis(3),
        "it slept {slept} between attempts"
    );
}

#[test]
fn a_signal_ends_the_drive() {
    let mut driver = Driver::new(Clock::starting_now()).unwrap();
    let stop = driver.stop_handle();
    stop.stop_on(signal_hook::consts::SIGUSR1).unwrap();
    let mut idle = Ticker::every(Duration::ZERO);
    let sender = std::thread::spawn(|| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        nix::sys::signal::raise(nix::sys::signal::Signal::SIGUSR1).unwrap();
    });
    driver.run(&mut idle).unwrap();
    sender.join().unwrap();
}

#[test]
fn deadlines_before_the_start_of_the_drive_are_not_late() {
    let now = Clock::starting_now().origin_ns();
    let origin = now - Duration::from_secs(18).as_nanos();
    let mut driver = Driver::new(Clock::starting_at(origin)).unwrap();
    let mut ticker = Ticker::every(Duration::from_millis(1));
    ticker.end = Some((5, driver.stop_handle()));
    let report = driver.run(&mut ticker).unwrap();
    assert_eq!(report.lateness.count(), 5);
    assert!(report.lateness.max() < Duration::from_secs(1));
}

/// A handler that has read inputs and handles them one at a time.
struct Backlog {
    left: u32,
    stop: StopHandle,
}

impl EventHandler for Backlog {
    fn deadline(&self) -> Option<Deadline> {
        None
    }

    fn has_backlog(&self) -> bool {
        self.left > 0
    }

    fn handle_timeout(&mut self, _: Time) -> io::Result<()> {
        self.left -= 1;
        if self.left == 0 {
            self.stop.stop();
        }
        Ok(())
    }

    fn handle_readable(&mut self, _: Token, _: Time, _: usize) -> io::Result<usize> {
        Ok(0)
    }
}

#[test]
fn a_backlog_is_handled_at_once_without_lateness() {
    let mut driver = Driver::new(Clock::starting_now()).unwrap();
    let stop = driver.stop_handle();
    let mut handler = Backlog { left: 100, stop };
    let report = driver.run(&mut handler).unwrap();
    assert_eq!(handler.left, 0);
    assert_eq!((report.lateness.count(), report.stuck), (0, 0));
}
