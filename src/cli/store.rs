//! `taco-trace store`: what is in a store, and care of it.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};

use super::diagnose::korean_instant;
use super::failure::Failure;
use super::load::StoreArg;
use super::terminal::{self, ColorChoice};
use super::{HELP_TEMPLATE, exit, load};
use crate::render::{Texts, issues, store as words};
use crate::store::Store;
use crate::store::care::{self, CareError, ExportOptions};

/// `taco-trace store` 의 인자
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    /// 크기, 기간, 도구 정의, 문제, 표마다의 행을 보여줍니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Info {
        #[command(flatten)]
        store: StoreArg,
        /// 형식: table(기본) 또는 json
        #[arg(
            long,
            value_name = "형식",
            value_enum,
            default_value_t = Format::Table,
            hide_possible_values = true,
            hide_default_value = true
        )]
        format: Format,
    },
    /// 빈 블록을 돌려주어 파일을 줄입니다. 도중에 멈추어도 저장소는 그대로입니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Vacuum {
        #[command(flatten)]
        store: StoreArg,
    },
    /// 마지막 span 이 그날(한국 시간) 전에 시작한 트레이스를 통째로 지웁니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Prune {
        #[command(flatten)]
        store: StoreArg,
        /// 이 날의 0시(한국 시간)보다 앞선 트레이스를 지웁니다. 예: 2026-10-01
        #[arg(long, value_name = "날짜")]
        before: String,
        /// 지우지 않고 무엇을 지우게 되는지만 보여줍니다
        #[arg(long)]
        dry_run: bool,
    },
    /// 모든 표를 Parquet 으로 내보냅니다. 실행에 딸린 표는 한국 날짜마다 나눕니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Export {
        #[command(flatten)]
        store: StoreArg,
        /// 내보낼 폴더(없거나 비어 있어야 합니다)
        #[arg(long, value_name = "폴더")]
        parquet: PathBuf,
        /// 이 날부터 시작한 트레이스만. 한국 시간
        #[arg(long, value_name = "날짜")]
        from: Option<String>,
        /// 이 날까지(그날 포함) 시작한 트레이스만. 한국 시간
        #[arg(long, value_name = "날짜")]
        to: Option<String>,
        /// 가명을 만든 열쇠도 내보냅니다. 열쇠가 있으면 가린 값을 찾아낼 수 있습니다
        #[arg(long)]
        with_mask_key: bool,
    },
    /// 내보낸 폴더를 저장소에 들입니다. 이미 있는 span 과 파일은 다시 넣지 않습니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Import {
        /// `store export` 로 만든 폴더
        #[arg(help_heading = "인자", value_name = "폴더")]
        folder: PathBuf,
        #[command(flatten)]
        store: StoreArg,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// 단말에서 읽는 표
    Table,
    /// JSON 객체 하나
    Json,
}

/// Runs the command and tells what it came to.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let text = match &args.command {
        StoreCommand::Info { store, format } => {
            let info = store.open_to_read()?.info(&store.db).map_err(Failure::from)?;
            match format {
                Format::Table => words::info(texts, &info, terminal::style(ColorChoice::Never, false)),
                Format::Json => serde_json::to_string_pretty(&info)? + "\n",
            }
        }
        StoreCommand::Vacuum { store } => {
            let done = care::vacuum(&store.db, &free_bytes).map_err(Failure::from)?;
            words::vacuumed(texts, done.before, done.after, done.rows)
        }
        StoreCommand::Prune { store, before, dry_run } => {
            let midnight = midnight(before)?;
            let done = store.open()?.prune(midnight, before, *dry_run).map_err(Failure::from)?;
            let rows = done.rows.iter().map(|(name, rows)| (name.as_str(), *rows));
            words::pruned(texts, before, *dry_run, done.traces, rows)
        }
        StoreCommand::Export { store, parquet, from, to, with_mask_key } => {
            for date in [from, to].into_iter().flatten() {
                midnight(date)?;
            }
            if let (Some(first), Some(last)) = (from, to)
                && first > last
            {
                return Err(Failure::usage("dates_reversed").with("value", format!("{first} {last}")).into());
            }
            let options = ExportOptions {
                from: from.clone(),
                to: to.clone(),
                with_mask_key: *with_mask_key,
                exported_at: load::now(),
            };
            let done = store.open_to_read()?.export_parquet(parquet, &options);
            let done =
                done.map_err(|error| Failure::from(error).while_writing("export").with("path", parquet.display()))?;
            let path = parquet.display().to_string();
            words::exported(texts, &path, done.tables, done.rows, (done.files, done.bytes), done.dates)
        }
        StoreCommand::Import { folder, store } => {
            let reason = |code, detail: &str| issues::reason(texts, code, detail);
            let mut opened = Store::open(&store.db).map_err(Failure::from)?;
            let done = opened.import_parquet(folder, &reason).map_err(Failure::from)?;
            let spans = [done.spans_new, done.spans_same, done.spans_other];
            let sources = [done.sources_new, done.sources_known];
            words::imported(texts, spans, sources, done.rows, done.mask_key_differs)
        }
    };
    match &args.command {
        StoreCommand::Vacuum { .. } | StoreCommand::Prune { dry_run: false, .. } | StoreCommand::Import { .. } => {
            terminal::write_done(&text)?;
        }
        StoreCommand::Info { .. } | StoreCommand::Prune { .. } | StoreCommand::Export { .. } => {
            terminal::write_result(&text, None)?;
        }
    }
    Ok(exit::OK)
}

/// The Korean midnight that a date begins with, nanoseconds since 1970 UTC. The date has to be written in full: it is
/// compared with others as text.
pub(super) fn midnight(date: &str) -> Result<i64, Failure> {
    let is_plain = date.len() == 10 && date.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let wrong = || Failure::usage("bad_day").with("value", date);
    if !is_plain {
        return Err(wrong());
    }
    korean_instant(date, 0).map_err(|failure| if failure.kind == "date_range" { failure } else { wrong() })
}

/// Bytes that are free where the folder lies, as `df` says; none when it says nothing.
fn free_bytes(folder: &Path) -> Option<u64> {
    let output = std::process::Command::new("df").arg("-Pk").arg(folder).env("LC_ALL", "C").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Names on either side of the numbers may hold blanks; only the share of use ends in a percent sign.
    let fields: Vec<&str> = text.lines().nth(1)?.split_whitespace().collect();
    let share = fields.iter().rposition(|field| {
        field.strip_suffix('%').is_some_and(|share| share.bytes().all(|byte| byte.is_ascii_digit()))
    })?;
    fields.get(share.checked_sub(1)?)?.parse::<u64>().ok()?.checked_mul(1024)
}

impl From<CareError> for Failure {
    fn from(error: CareError) -> Self {
        let message = error.to_string();
        match error {
            CareError::Store(error) => error.into(),
            CareError::File { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                Self::unreadable("disk_full").with("message", source)
            }
            CareError::File { path, source } => {
                Self::unreadable("file_not_readable").with("path", path.display()).with("message", source)
            }
            CareError::NotEmpty { path } => Self::usage("not_empty").with("path", path.display()),
            CareError::NoRoom { needed, free } => {
                Self::unreadable("no_room").with("needed", words::bytes(needed)).with("free", words::bytes(free))
            }
            CareError::RowsDiffer { table, expected, found } => {
                Self::unreadable("rows_differ").with("name", table).with("known", expected).with("found", found)
            }
            CareError::Unclassified { .. } => Self::unreadable("other").with("message", message),
            CareError::Manifest { path, message } => {
                Self::unreadable("manifest_wrong").with("path", path.display()).with("message", message)
            }
            CareError::ExportFileMissing { path } => Self::unreadable("export_missing").with("path", path.display()),
            CareError::ExportFileChanged { path } => Self::unreadable("export_changed").with("path", path.display()),
        }
    }
}
