//! Dates, times and intervals as DuckDB writes them, over all of their ranges.

const DAY_NS: i128 = 86_400_000_000_000;

/// Days since 1970 as a date.
pub(super) fn date(days: i32) -> String {
    match days {
        i32::MAX => "infinity".to_owned(),
        // The smallest number is not used: the negative one counts.
        days if days == -i32::MAX => "-infinity".to_owned(),
        days => {
            let (text, is_before) = calendar(days.into());
            if is_before { text + " (BC)" } else { text }
        }
    }
}

/// Nanoseconds since midnight; 24:00:00 is one.
pub(super) fn clock(nanoseconds: i128) -> String {
    let seconds = nanoseconds / 1_000_000_000;
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}{}", seconds % 60, fraction(nanoseconds % 1_000_000_000))
}

/// An instant of `count` units of so many nanoseconds since 1970; with a zone it is UTC.
pub(super) fn instant(count: i64, nanoseconds: i128, has_zone: bool) -> String {
    match count {
        i64::MAX => return "infinity".to_owned(),
        count if count == -i64::MAX => return "-infinity".to_owned(),
        _ => {}
    }
    let all = i128::from(count) * nanoseconds;
    let (text, is_before) = calendar(all.div_euclid(DAY_NS));
    let zone = if has_zone { "+00" } else { "" };
    let era = if is_before { " (BC)" } else { "" };
    format!("{text}{era} {}{zone}", clock(all.rem_euclid(DAY_NS)))
}

/// Months, days and nanoseconds, each with its own sign.
pub(super) fn interval(months: i32, days: i32, nanoseconds: i64) -> String {
    let mut parts = Vec::new();
    for (count, unit) in [(months / 12, "year"), (months % 12, "month"), (days, "day")] {
        if count != 0 {
            let plural = if count.abs() == 1 { "" } else { "s" };
            parts.push(format!("{count} {unit}{plural}"));
        }
    }
    if nanoseconds != 0 || parts.is_empty() {
        let sign = if nanoseconds < 0 { "-" } else { "" };
        parts.push(format!("{sign}{}", clock(nanoseconds.unsigned_abs().into())));
    }
    parts.join(" ")
}

/// The fraction of a second, without zeros at its end.
fn fraction(nanoseconds: i128) -> String {
    if nanoseconds == 0 {
        return String::new();
    }
    format!(".{nanoseconds:09}").trim_end_matches('0').to_owned()
}

/// Year, month and day of the proleptic Gregorian calendar, and whether the year lies before year 1. The days are
/// counted in eras of 400 years that begin on the first of March.
fn calendar(days: i128) -> (String, bool) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i128::from(month <= 2);
    let is_before = year < 1;
    let shown = if is_before { 1 - year } else { year };
    (format!("{shown:04}-{month:02}-{day:02}"), is_before)
}
