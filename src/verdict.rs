//! Which of the rules that hold is the verdict, and where to fix it. Pure: the only place that knows
//! the order of importance (seed 002, 자동 검증 9 and 10).

use crate::model::{Finding, FixTarget, Rule, Verdict};

/// The verdict on a run, the other verdicts that hold, and where to fix it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The most important rule that holds, or the normal verdict.
    pub verdict: Verdict,
    /// The others, in order of priority.
    pub also_found: Vec<Verdict>,
    /// Where to fix what the verdict says.
    pub fix_target: Option<FixTarget>,
}

/// Resolves the priority of what was found.
#[must_use]
pub fn judge(findings: &[Finding]) -> Judgement {
    let mut holding = Rule::ALL.into_iter().filter(|rule| findings.iter().any(|finding| finding.rule == *rule));
    let main = holding.next();
    Judgement {
        verdict: main.map_or(Verdict::Normal, Rule::verdict),
        also_found: holding.map(Rule::verdict).collect(),
        fix_target: main.map(|rule| fix_target(rule, findings)),
    }
}

/// Where to fix what the findings of this rule say; findings of others do not count.
#[must_use]
pub fn fix_target(rule: Rule, findings: &[Finding]) -> FixTarget {
    match rule {
        Rule::UndefinedTool => FixTarget::ToolDescription,
        Rule::ArgsMismatch => {
            let lacks_keys = findings.iter().any(|finding| finding.rule == rule && !finding.missing_keys.is_empty());
            if lacks_keys { FixTarget::ToolDescription } else { FixTarget::ArgumentSchema }
        }
        Rule::TimeoutExceeded => FixTarget::TimeLimit,
        Rule::RetryOverLimit => FixTarget::RetryLimit,
        Rule::ErrorHidden => FixTarget::ErrorHandling,
    }
}
