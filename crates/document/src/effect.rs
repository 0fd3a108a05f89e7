//! Reports of costs and classes that no policy of a file uses.

use polypath_core::class::Classes;
use polypath_core::policy::PolicyConfig;

use crate::problem::Problems;

/// The policies of a file, with their keys.
#[derive(Clone, Copy, Debug)]
pub struct UsedPolicies<'a> {
    /// The policy of a node, or those that a scenario compares.
    pub policies: &'a [PolicyConfig],
    /// Their keys; no problem is reported where one of the values is refused.
    pub keys: &'a [String],
    /// The end of the remedy: how to name a policy that uses costs and classes.
    pub remedy: &'a str,
}

impl UsedPolicies<'_> {
    /// Reports `classes`, and the first of the `costs` of paths above the lowest, if no policy uses
    /// them.
    pub fn check(self, classes: &Classes, costs: &[u8], problems: &mut Problems) {
        let remedy = self.remedy;
        if !classes.is_empty() && !self.policies.iter().any(|policy| policy.respects_classes()) {
            let remedy = format!("remove the `[[class]]` tables, or {remedy}");
            self.report("class", "classes", remedy, problems);
        }
        let costly = costs
            .iter()
            .position(|cost| Some(cost) != costs.iter().min());
        if let Some(index) = costly
            && !self.policies.iter().any(|policy| policy.respects_costs())
        {
            let key = format!("path.{index}.tariff.cost");
            let remedy = format!("omit the cost, or {remedy}");
            self.report(&key, "costs", remedy, problems);
        }
    }

    fn report(self, key: &str, unused: &str, remedy: String, problems: &mut Problems) {
        let message = match self.policies {
            [policy] => format!("the policy `{}` does not use {unused}", policy.name()),
            _ => format!("no policy of the file uses {unused}"),
        };
        let others = self.keys.iter().map(String::as_str);
        let keys: Vec<&str> = std::iter::once(key).chain(others).collect();
        problems.report_among(&keys, message, remedy);
    }
}
