//! Runs of the same questions before and after the description of a tool was changed. Pure.

use super::agreeing;
use crate::model::bench::Agreeing;
use crate::model::demo::{AskedRun, AskedTwice, ModelChange, PairedChange};
use crate::stats::{ALPHA, Pairs, holm, mcnemar, paired_difference};

/// Counts for each model how many runs had an argument verdict, in the order given.
///
/// When anything was run again, only questions count of which both runs do: a share over other questions would compare
/// something else.
#[must_use]
pub fn changes(asked: Vec<(String, Vec<AskedTwice>)>) -> Vec<ModelChange> {
    let mut models: Vec<ModelChange> = asked.into_iter().map(|(model, questions)| change(model, questions)).collect();
    let tested: Vec<f64> = models.iter().filter_map(|model| model.pairs.map(|pairs| pairs.p)).collect();
    let corrected = holm(&tested);
    for (pairs, corrected) in models.iter_mut().filter_map(|model| model.pairs.as_mut()).zip(corrected) {
        pairs.p_corrected = corrected;
        pairs.beyond_chance = corrected < ALPHA;
    }
    models
}

fn change(model: String, questions: Vec<AskedTwice>) -> ModelChange {
    let counting: Vec<(&AskedRun, Option<&AskedRun>)> = questions
        .iter()
        .map(|question| (&question.before, question.after.as_ref()))
        .filter(|(before, after)| before.counts() && after.is_none_or(AskedRun::counts))
        .collect();
    let is_repeated = questions.iter().any(|question| question.after.is_some());
    let share = |hits: usize| -> Agreeing { agreeing(hits as u64, counting.len() as u64) };
    let before = share(counting.iter().filter(|(before, _)| before.has_mismatch).count());
    let after = is_repeated
        .then(|| share(counting.iter().filter(|(_, after)| after.is_some_and(|after| after.has_mismatch)).count()));
    let pairs = is_repeated.then(|| paired(&counting));
    let left_out = (questions.len() - counting.len()) as u64;
    ModelChange { model, before, after, pairs, left_out, questions }
}

fn paired(counting: &[(&AskedRun, Option<&AskedRun>)]) -> PairedChange {
    let mut pairs = Pairs::default();
    for (before, after) in counting {
        let cell = match (before.has_mismatch, after.is_some_and(|after| after.has_mismatch)) {
            (true, true) => &mut pairs.both,
            (true, false) => &mut pairs.first_only,
            (false, true) => &mut pairs.second_only,
            (false, false) => &mut pairs.neither,
        };
        *cell += 1;
    }
    // After less before, so that a repair is below 0.
    let turned = Pairs { first_only: pairs.second_only, second_only: pairs.first_only, ..pairs };
    let share = |hits: u64| agreeing(hits, pairs.total()).share;
    let difference = share(pairs.both + pairs.second_only)
        .zip(share(pairs.both + pairs.first_only))
        .map(|(after, before)| after - before);
    let interval = paired_difference(turned);
    let p = mcnemar(pairs.first_only, pairs.second_only);
    PairedChange {
        both: pairs.both,
        before_only: pairs.first_only,
        after_only: pairs.second_only,
        neither: pairs.neither,
        difference,
        difference_interval: difference.map(|_| [interval.low, interval.high]),
        p,
        p_corrected: p,
        beyond_chance: p < ALPHA,
    }
}
