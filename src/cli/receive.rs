//! `taco-trace receive`: traces over the network into a store that stays.

use std::io::IsTerminal;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::failure::Failure;
use super::load::{self, IssuesArg, LoadArgs, Loaded};
use super::mask::Masking;
use super::{exit, terminal};
use crate::model::Issue;
use crate::receive::{self, Event, Limits, ReceiveError, Setup, Totals};
use crate::render::Texts;
use crate::render::issues::{self, ToldIssue};
use crate::render::receive::{self as words, ReceiveSummary};
use crate::store::{Store, StoreError};

/// How many issues are told at the end unless all are asked for.
const TOLD_ISSUES: usize = 20;
/// The name of what came over the network in the list of issues, as in the store.
const SOURCE: &str = "otlp-http";

/// `taco-trace receive` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace receive --tools tools.json --db taco.duckdb\n\
    Collector 설정: exporters: { otlphttp: { endpoint: http://127.0.0.1:4318 } }\n\n\
    받는 동안에는 저장소가 잠깁니다. diagnose 와 explain 은 receive 를 끝낸 뒤에 하세요.\n\
    저장소에 커밋한 뒤에만 200 으로 답하므로, 갑자기 죽어도 받았다고 답한 span 은 남아 있습니다.\n\
    받는 주소 한 줄만 표준 출력에 내고, 나머지는 모두 표준 오류에 냅니다.")]
pub(crate) struct Args {
    /// 받을 주소(기본 127.0.0.1:4318). 포트 0 은 빈 포트를 고릅니다
    #[arg(long, value_name = "주소:포트", default_value = "127.0.0.1:4318", hide_default_value = true)]
    listen: String,
    /// 저장소 파일(기본 taco.duckdb)
    #[arg(long, value_name = "파일", default_value = load::DEFAULT_STORE, hide_default_value = true)]
    db: PathBuf,
    /// 요청 하나의 본문 한도(MiB, 압축을 푼 크기까지, 기본 64). 넘으면 413 으로 답합니다
    #[arg(
        long,
        value_name = "MiB",
        default_value_t = 64,
        hide_default_value = true,
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    max_body_mib: u16,
    /// 읽거나 쓰기를 기다리는 본문 전체의 한도(MiB, 기본 128). 넘으면 429 로 답합니다
    #[arg(
        long,
        value_name = "MiB",
        default_value_t = 128,
        hide_default_value = true,
        value_parser = clap::value_parser!(u16).range(1..=16384)
    )]
    queue_mib: u16,
    #[command(flatten)]
    load: LoadArgs,
}

/// Receives until SIGTERM or SIGINT.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    if args.queue_mib < args.max_body_mib {
        return Err(Failure::usage("queue_below_body")
            .with("value", args.queue_mib)
            .with("valid", args.max_body_mib)
            .into());
    }
    let mut loaded = Loaded::default();
    let tools = load::read_tools(texts, &args.load, &mut loaded)?;
    load::tell_issues(texts, &loaded);
    let (listener, address) = listen(&args.listen, None)?;

    let db = args.db.clone();
    let open = move || {
        let store = Store::open(&db)?;
        if let Some(tools) = &tools {
            store.load_tools(tools, &load::now())?;
        }
        Ok(store)
    };
    let masker = if args.load.mask.is_on() {
        let store = Store::open(&args.db).map_err(Failure::from)?;
        Masking::begin(&store, &args.load.mask)?.into_masker()
    } else {
        None
    };
    let bar = status_line(args.load.quiet);
    let told = Told::new(args.load.issues, bar.clone());
    let setup = Setup {
        limits: Limits {
            body_bytes: usize::from(args.max_body_mib) << 20,
            queue_bytes: usize::from(args.queue_mib) << 20,
            ..Limits::default()
        },
        options: load::read_options(&args.load)?,
        masker,
        texts: Texts::korean(),
        open: Box::new(open),
        now: Box::new(load::now),
        tell: told.teller(),
        told_issues: if args.load.issues == IssuesArg::All { usize::MAX } else { TOLD_ISSUES },
    };
    let begin = || {
        let stop = signals()?;
        announce(texts, args, address);
        Ok(stop)
    };
    let totals = receive::run(listener, setup, begin).map_err(failure)?;
    bar.finish_and_clear();
    told.tell_first(texts);
    if !args.load.quiet {
        terminal::tell(&words::summary(texts, summary(totals)));
    }
    Ok(exit::OK)
}

/// A bound socket and its address. `own_port` is the port that the command takes when none is given, for hints; none
/// for that of OTLP.
pub(super) fn listen(listen: &str, own_port: Option<u16>) -> Result<(TcpListener, SocketAddr), Failure> {
    let failure = |error: std::io::Error| {
        let failure = listen_failure(listen, &error);
        match own_port {
            Some(port) => failure.with("needed", port),
            None => failure,
        }
    };
    let listener = TcpListener::bind(listen).map_err(failure)?;
    let address = listener.local_addr().map_err(failure)?;
    Ok((listener, address))
}

fn listen_failure(listen: &str, error: &std::io::Error) -> Failure {
    let failure = match error.kind() {
        // What is no address at all.
        std::io::ErrorKind::InvalidInput => Failure::usage("bad_listen"),
        std::io::ErrorKind::AddrInUse => Failure::unreadable("port_in_use"),
        _ => Failure::unreadable("listen_failed"),
    };
    failure.with("value", listen).with("message", error)
}

fn failure(error: ReceiveError) -> Failure {
    match error {
        ReceiveError::Store(error) => error.into(),
        error @ (ReceiveError::System(_) | ReceiveError::WriterEnded) => {
            Failure::unreadable("other").with("message", error)
        }
    }
}

/// What ends with SIGTERM or SIGINT, both of which wait for this from here on.
pub(super) fn signals() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// The address on standard output, for scripts, whatever else is silent.
fn announce(texts: &Texts, args: &Args, address: SocketAddr) {
    if !address.ip().is_loopback() {
        terminal::tell(&words::open_to_all(texts, &address.to_string()));
    }
    let url = format!("http://{address}/v1/traces");
    if !args.load.quiet {
        terminal::tell(&words::listening(texts, &url, &args.db.display().to_string()));
    }
    // A closed standard output keeps nobody from sending.
    terminal::write_result(&format!("{url}\n"), None).ok();
}

/// Silent when standard error is no terminal or `--quiet` is given.
fn status_line(quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{elapsed_precise} {msg}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_secs(1));
    bar
}

const fn summary(totals: Totals) -> ReceiveSummary {
    let Totals { requests, refused, deferred, commits, kept, dropped, redelivered, skipped, issues } = totals;
    ReceiveSummary { requests, refused, deferred, commits, kept, dropped, redelivered, skipped, issues }
}

/// Tells of issues: the first ones at the end, or all as they come.
struct Told {
    all: bool,
    bar: ProgressBar,
    first: std::sync::Arc<std::sync::Mutex<(Vec<ToldIssue>, u64)>>,
}

impl Told {
    fn new(issues: IssuesArg, bar: ProgressBar) -> Self {
        Self { all: issues == IssuesArg::All, bar, first: std::sync::Arc::default() }
    }

    /// What is called for every event, on another thread.
    fn teller(&self) -> Box<dyn FnMut(Event) + Send> {
        let (all, bar, first) = (self.all, self.bar.clone(), self.first.clone());
        let texts = Texts::korean();
        Box::new(move |event| match event {
            Event::Committed { totals, issues } => {
                bar.set_message(words::status(&texts, summary(totals)));
                let told: Vec<ToldIssue> = issues.iter().map(|issue| in_words(&texts, issue)).collect();
                if all && !told.is_empty() {
                    bar.suspend(|| terminal::tell(&issues::skipped_lines(&texts, &told, told.len() as u64)));
                } else if let Ok(mut first) = first.lock() {
                    let room = TOLD_ISSUES.saturating_sub(first.0.len());
                    first.0.extend(told.into_iter().take(room));
                    first.1 = totals.issues;
                }
            }
            Event::StoreFailed(error) => {
                let is_full = matches!(error, StoreError::DiskFull { .. });
                bar.suspend(|| terminal::tell(&words::store_failed(&texts, &error.to_string(), is_full)));
            }
            Event::StoreBack => bar.suspend(|| terminal::tell(&words::store_back(&texts))),
        })
    }

    fn tell_first(&self, texts: &Texts) {
        if let Ok(first) = self.first.lock()
            && !first.0.is_empty()
        {
            terminal::tell(&issues::skipped_lines(texts, &first.0, first.1));
        }
    }
}

fn in_words(texts: &Texts, issue: &Issue) -> ToldIssue {
    ToldIssue {
        source: SOURCE.to_owned(),
        line: issue.line,
        code: issue.code,
        reason: issues::reason(texts, issue.code, &issue.detail),
    }
}
