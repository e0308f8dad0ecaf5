//! `taco-trace eval serve`: the gate over HTTP.

use super::super::failure::Failure;
use super::super::load::{self, StoreArg};
use super::super::receive::{listen, signals};
use super::super::{exit, terminal};
use crate::gate::serve::{self, Limits, Setup};
use crate::render::{Texts, eval_report as words};

/// `taco-trace eval serve` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace eval serve --listen 127.0.0.1:8321\n    \
    curl -H \"Authorization: Bearer ievt_…\" \"http://127.0.0.1:8321/api/ci/gate?config_hash=…\"\n\n\
    저장소는 물음마다 읽기만 하려고 열고 닫으므로, 그 사이에 eval run 이 쓸 수 있습니다.\n\
    주소 한 줄만 표준 출력에 내고, 나머지는 모두 표준 오류에 냅니다. TLS 는 앞단에 맡기세요.")]
pub(crate) struct Args {
    /// 받을 주소(기본 127.0.0.1:8321). 포트 0 은 빈 포트를 고릅니다
    #[arg(long, value_name = "주소:포트", default_value = "127.0.0.1:8321", hide_default_value = true)]
    listen: String,
    /// 표준 오류에 아무것도 내지 않습니다
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    store: StoreArg,
}

/// Answers until SIGTERM or SIGINT.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    // A store that is not there is told now, and one that is not current is made so.
    drop(args.store.open_to_read()?);
    let (listener, address) = listen(&args.listen, Some(8321))?;
    let (told, quiet) = (Texts::korean(), args.quiet);
    let setup = Setup {
        limits: Limits::default(),
        db: args.store.db.clone(),
        texts: Texts::korean(),
        now_ns: Box::new(load::now_ns),
        tell: Box::new(move |error| {
            if !quiet {
                terminal::tell(&words::store_failed(&told, &error.to_string()));
            }
        }),
    };
    let begin = || {
        let stop = signals()?;
        if !address.ip().is_loopback() {
            terminal::tell(&words::open_to_all(texts, &address.to_string()));
        }
        let url = format!("http://{address}{}", serve::PATH);
        if !args.quiet {
            terminal::tell(&words::listening(texts, &url, &args.store.db.display().to_string()));
        }
        // A closed standard output keeps nobody from asking.
        terminal::write_result(&format!("{url}\n"), None).ok();
        Ok(stop)
    };
    let totals =
        serve::run(listener, setup, begin).map_err(|error| Failure::unreadable("other").with("message", error))?;
    if !args.quiet {
        terminal::tell(&words::served(texts, totals.answered, totals.refused));
    }
    Ok(exit::OK)
}
