//! `taco-trace eval serve`: the gate over HTTP, and the sandbox with a trial by hand.

mod trial;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;

use super::super::failure::Failure;
use super::super::load::{self, StoreArg};
use super::super::receive::{listen, signals};
use super::super::{exit, terminal};
use super::project::sandbox_setup;
use super::{Format, case, traces};
use crate::eval::case::Case;
use crate::eval::freeze::freeze;
use crate::experiment::by_hand::HandTrial;
use crate::gate::serve::{self, Limits, Setup};
use crate::render::{Texts, eval_report as words};
use crate::sandbox::{Sandbox, StartError};

/// `taco-trace eval serve` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace eval serve --listen 127.0.0.1:8321\n    \
    curl -H \"Authorization: Bearer ievt_…\" \"http://127.0.0.1:8321/api/ci/gate?config_hash=…\"\n    \
    taco-trace eval serve --case cases/02-approved-mail.json\n\n\
    저장소는 물음마다 읽기만 하려고 열고 닫으므로, 그 사이에 eval run 이 쓸 수 있습니다.\n\
    --case 를 주면 같은 주소의 /api/sandbox/ 에 그 사례의 모의 도구를 열고, 대상에\n\
    보낼 차례(turn)를 표준 출력에 JSON 한 줄로 냅니다. 대상의 답을 표준 입력에 한\n\
    줄로 적으면 다음 차례로 넘어가고, 마지막 차례 뒤에는 일어난 일과 판정을 냅니다.\n\
    시간 상한은 한 시간으로 늘리고, 저장소에는 아무것도 남기지 않습니다.\n\n\
    주소, 차례, 결과만 표준 출력에 내고, 나머지는 모두 표준 오류에 냅니다. TLS 는 앞단에 맡기세요.")]
pub(crate) struct Args {
    /// 받을 주소(기본 127.0.0.1:8321). 포트 0 은 빈 포트를 고릅니다
    #[arg(long, value_name = "주소:포트", default_value = "127.0.0.1:8321", hide_default_value = true)]
    listen: String,
    /// 이 사례의 모의 도구를 엽니다: 대상을 만드는 동안 손으로 시험하는 데 씁니다
    #[arg(long, value_name = "파일")]
    case: Option<PathBuf>,
    /// 대상이 모의 도구를 부를 주소(앞단이 있을 때). 없으면 받을 주소
    #[arg(long, value_name = "주소", requires = "case")]
    sandbox_url: Option<String>,
    /// 손으로 한 시험의 트레이스(OTLP JSON 줄)를 이 파일 끝에 덧붙입니다
    #[arg(long, value_name = "파일", requires = "case")]
    traces: Option<PathBuf>,
    /// 표준 오류에 아무것도 내지 않습니다
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    store: StoreArg,
}

/// Answers until SIGTERM or SIGINT.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let tried = match &args.case {
        Some(path) => match freeze(&case::read_one(path)?) {
            Ok((_, case)) => Some(case),
            Err(problems) => {
                return case::tell_problems(texts, &[(path.display().to_string(), problems)], Format::Table);
            }
        },
        None => None,
    };
    if let Some(path) = &args.traces {
        terminal::refuse_over_inputs(Some(path), args.case.as_deref())?;
        terminal::refuse_store(path)?;
    }
    // A store that is not there is told now, and one that is not current is made so. A trial by hand needs none.
    if tried.is_none() || args.store.db.exists() {
        drop(args.store.open_to_read()?);
    }
    let (listener, address) = listen(&args.listen, Some(8321))?;
    let (sandbox, beside) = sandbox(args, address)?;
    let hand = tried.map(|case| begin_trial(args, &sandbox, case)).transpose()?.map(Arc::new);
    let (told, quiet) = (Texts::korean(), args.quiet);
    let setup = Setup {
        limits: Limits::default(),
        beside,
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
        if let Some(hand) = &hand {
            trial::follow(Arc::clone(hand))?;
        }
        Ok(stop)
    };
    let totals =
        serve::run(listener, setup, begin).map_err(|error| Failure::unreadable("other").with("message", error))?;
    let finished = hand.map_or(Ok(()), |hand| hand.finish());
    if !args.quiet {
        terminal::tell(&words::served(texts, totals.answered, totals.refused));
    }
    finished.map(|()| exit::OK)
}

/// The sandbox, and what answers for it. Without a case no trial is open in it, and every token is refused.
fn sandbox(args: &Args, address: SocketAddr) -> Result<(Sandbox, Router), Failure> {
    Sandbox::behind(address, sandbox_setup(args.sandbox_url.clone())).map_err(|error| match error {
        StartError::PublicUrl => {
            Failure::usage("eval_sandbox_url").with("value", args.sandbox_url.as_deref().unwrap_or_default())
        }
        StartError::System(error) => Failure::unreadable("other").with("message", error),
    })
}

fn begin_trial(args: &Args, sandbox: &Sandbox, case: Case) -> anyhow::Result<trial::Hand> {
    let file = args.traces.as_deref().map(traces::open).transpose()?;
    let name = case.id.clone();
    let begun = HandTrial::begin(sandbox, case, load::now_ns())
        .map_err(|error| Failure::unreadable("other").with("message", error))?;
    Ok(trial::Hand::new(name, begun, args.traces.clone().zip(file), args.quiet))
}
