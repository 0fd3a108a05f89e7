//! The heartbeats of the paths, and the guard times in which they are frequent.

use super::choice::Choice;
use super::config::{Heartbeats, MIN_INTERVAL};
use super::{Action, DelayCentric, GuardTime};
use crate::frame::PathId;
use crate::time::{Duration, Time};

impl DelayCentric {
    /// Draws the times of the first heartbeats unless they are already scheduled.
    pub(super) fn schedule_first_heartbeats(&mut self, now: Time) {
        let heartbeats = self.config.heartbeats();
        for path in &mut self.paths {
            if path.next_heartbeat == Time::MAX {
                path.next_heartbeat = now + heartbeats.draw(&mut self.stream);
            }
        }
    }

    /// A guard time of data on `current`, whose heartbeats begin soon.
    pub(super) fn start_guard_time(
        &mut self,
        now: Time,
        to: Option<PathId>,
        current: PathId,
    ) -> GuardTime {
        let end = now + self.config.guard().draw(&mut self.stream);
        let guard_time = Some(GuardTime { to, end });
        let choice = Choice {
            current,
            guard_time,
        };
        let fast = choice.fast_paths();
        let heartbeats = self.config.heartbeats();
        let (soon, timeout) = (now + guard_interval(heartbeats), self.timeout());
        for (number, path) in (0..).map(PathId).zip(&mut self.paths) {
            // Otherwise the answer brings the next one.
            let is_due_soon = !heartbeats.wait || !path.awaits_reply(now, timeout);
            if fast.contains(number) && is_due_soon {
                path.next_heartbeat = path.next_heartbeat.min(soon);
            }
        }
        GuardTime { to, end }
    }

    /// Ends the running guard time of all data, if any, and its short heartbeat intervals.
    pub(super) fn end_guard_time(&mut self, now: Time) {
        let ended = self.choice;
        self.choice.guard_time = None;
        self.draw_usual_heartbeats(now, ended);
    }

    /// Ends the short heartbeat intervals of a guard time that has ended.
    pub(super) fn draw_usual_heartbeats(&mut self, now: Time, ended: Choice) {
        let (heartbeats, timeout) = (self.config.heartbeats(), self.timeout());
        let no_longer = ended.fast_paths().without(self.fast_paths());
        for number in (0..).map(PathId).take(self.paths.len()) {
            let waits = heartbeats.wait && self.paths[number.index()].awaits_reply(now, timeout);
            if no_longer.contains(number) && !waits {
                let next = now + heartbeats.draw(&mut self.stream);
                self.paths[number.index()].next_heartbeat = next;
            }
        }
    }

    pub(super) fn send_heartbeats(&mut self, now: Time, act: &mut dyn FnMut(Action)) {
        let (heartbeats, timeout) = (self.config.heartbeats(), self.timeout());
        for number in (0..).map(PathId).take(self.paths.len()) {
            if self.paths[number.index()].next_heartbeat > now {
                continue;
            }
            let next = now + self.draw_interval(number);
            let is_chosen = self.used_paths().contains(number);
            let path = &mut self.paths[number.index()];
            path.next_heartbeat = next;
            let is_measured_by_data =
                self.acknowledges && is_chosen && path.carries_data(now, heartbeats.least);
            if !is_measured_by_data && self.alive.contains(number) {
                if heartbeats.wait {
                    // Unless the answer comes before.
                    path.next_heartbeat = next + timeout;
                }
                let id = path.send_heartbeat(now);
                act(Action::Heartbeat { path: number, id });
            }
        }
    }

    /// Draws the interval to the next heartbeat on a path.
    pub(super) fn draw_interval(&mut self, path: PathId) -> Duration {
        let heartbeats = self.config.heartbeats();
        if self.fast_paths().contains(path) {
            return guard_interval(heartbeats);
        }
        heartbeats.draw(&mut self.stream)
    }
}

fn guard_interval(heartbeats: Heartbeats) -> Duration {
    heartbeats.in_guard.max(MIN_INTERVAL)
}
