//! The commands of `taco-trace demo` that run the agent: `run`, `serve`, `tools`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::{Subcommand, ValueEnum};
use serde_json::{Value, json};

use crate::chat::ChatModel;
use crate::cli::failure::{Failure, tools_failure};
use crate::cli::load::{self, LoadArgs, Loaded};
use crate::cli::model::ModelArgs;
use crate::cli::receive::{listen, signals};
use crate::cli::{exit, terminal};
use crate::demo::{
    Agent, AgentConfig, Clock, Ending, Fault, LocalTools, Question, RunOutcome, ScriptConfig, ScriptModel,
    SimulatedClock, TOOLS_JSON, Telemetry, TelemetrySetup, TraceError, TraceFile, questions, serve,
};
use crate::ingest::tools::{ToolDefaults, parse_tools};
use crate::model::ToolDefinition;
use crate::render::Texts;
use crate::render::agent::{self as words, ToldCall, ToldRun};

/// Commands of the agent.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// 에이전트에 묻고 답과 부른 도구를 보여줍니다
    #[command(
        help_template = crate::cli::HELP_TEMPLATE,
        next_help_heading = "옵션",
        after_help = "예: taco-trace demo run \"재무과의 2026년 2분기 예산 집행 현황을 알려 주세요.\" --traces traces.jsonl\n\
            taco-trace demo run --questions --fault drop-arg --seed 7 --simulated-time --traces traces.jsonl"
    )]
    Run(Box<RunArgs>),
    /// 에이전트를 평가 규약 irumx-eval-target/1 뒤에 세웁니다
    #[command(
        help_template = crate::cli::HELP_TEMPLATE,
        next_help_heading = "옵션",
        after_help = "예: taco-trace demo serve --traces traces.jsonl\n\n\
            차례(turn)가 도구를 주면 그 sandbox 의 도구를, 주지 않으면 에이전트의 도구 셋을 부릅니다.\n\
            받는 주소 한 줄만 표준 출력에 내고, 나머지는 모두 표준 오류에 냅니다."
    )]
    Serve(Box<ServeArgs>),
    /// 에이전트의 도구 정의(tools.json)를 냅니다
    #[command(help_template = crate::cli::HELP_TEMPLATE, next_help_heading = "옵션")]
    Tools {
        /// 표준 출력 대신 이 파일에 씁니다
        #[arg(short, long, value_name = "파일")]
        output: Option<PathBuf>,
    },
}

/// 에이전트를 어떻게 돌리는지
#[derive(Debug, clap::Args)]
pub(crate) struct AgentArgs {
    /// 트레이스를 이 파일 끝에 OTLP JSON 줄로 덧붙입니다(실행 하나가 한 줄)
    #[arg(long, value_name = "파일")]
    traces: Option<PathBuf>,
    /// 트레이스를 이 Collector 에도 보냅니다(OTLP/HTTP, 예: http://127.0.0.1:4318)
    #[arg(long, value_name = "주소")]
    otlp_endpoint: Option<String>,
    /// 모델에 주는 도구 정의(기본은 demo tools 가 내는 것)
    #[arg(long, value_name = "파일")]
    tools: Option<PathBuf>,
    /// 넣을 고장: drop-arg, slow, repeat, swallow-error, unknown-tool. 여러 번 줄 수 있습니다
    #[arg(long = "fault", value_name = "고장", value_parser = fault)]
    faults: Vec<Fault>,
    /// 고장이 들어갈 호출과 script 모델의 선택을 정하는 씨앗(기본 0)
    #[arg(long, value_name = "수", default_value_t = 0, hide_default_value = true)]
    seed: u64,
    /// 한 실행에서 도구를 부를 수 있는 횟수(기본 12). 넘으면 오류로 끝납니다
    #[arg(
        long,
        value_name = "번",
        default_value_t = 12,
        hide_default_value = true,
        value_parser = clap::value_parser!(u16).range(0..=1000)
    )]
    max_tool_calls: u16,
    /// script 모델이 설명에 없는 필수 인자를 빼는 물음의 비율(퍼센트, 기본 60)
    #[arg(
        long,
        value_name = "퍼센트",
        default_value_t = 60,
        hide_default_value = true,
        value_parser = clap::value_parser!(u8).range(0..=100)
    )]
    script_omits: u8,
    #[command(flatten)]
    model: ModelArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// 물음
    #[arg(help_heading = "인자", value_name = "물음", required_unless_present = "questions")]
    question: Option<String>,
    /// 함께 실린 물음을 모두 차례로 묻습니다
    #[arg(long, conflicts_with = "question")]
    questions: bool,
    /// 기다리지 않고 시각을 씨앗으로 지어냅니다. 트레이스 ID 도 씨앗으로 정해져 같은 명령은 같은 줄을 남깁니다
    #[arg(long)]
    simulated_time: bool,
    /// 출력 형식: text(기본), json
    #[arg(
        short,
        long,
        value_name = "형식",
        value_enum,
        default_value_t = Format::Text,
        hide_possible_values = true,
        hide_default_value = true
    )]
    format: Format,
    #[command(flatten)]
    agent: AgentArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// 받을 주소(기본 127.0.0.1:8750). 포트 0 은 빈 포트를 고릅니다
    #[arg(long, value_name = "주소:포트", default_value = "127.0.0.1:8750", hide_default_value = true)]
    listen: String,
    /// 진행을 알리지 않습니다
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    agent: AgentArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// 사람이 읽는 글
    Text,
    /// JSON 배열 하나
    Json,
}

fn fault(text: &str) -> Result<Fault, String> {
    text.parse().map_err(|_| {
        let names: Vec<&str> = Fault::ALL.into_iter().map(Fault::as_str).collect();
        format!("{} 가운데 하나를 적으세요", names.join(", "))
    })
}

/// Time as it passes.
struct RealClock;

impl Clock for RealClock {
    fn begin(&self) -> SystemTime {
        SystemTime::now()
    }

    fn after(&self, from: SystemTime, _: Duration) -> SystemTime {
        // The system's time may be set back.
        SystemTime::now().max(from)
    }

    fn wait(&self, from: SystemTime, duration: Duration) -> SystemTime {
        std::thread::sleep(duration);
        SystemTime::now().max(from)
    }
}

/// Runs the command.
pub(crate) fn run(texts: &Texts, command: &AgentCommand) -> anyhow::Result<u8> {
    match command {
        AgentCommand::Run(args) => run_questions(texts, args),
        AgentCommand::Serve(args) => serve_turns(texts, args),
        AgentCommand::Tools { output } => {
            terminal::write_result(TOOLS_JSON, output.as_deref())?;
            Ok(exit::OK)
        }
    }
}

fn run_questions(texts: &Texts, args: &RunArgs) -> anyhow::Result<u8> {
    let asked = match &args.question {
        Some(text) => vec![of_text(text)],
        None => questions::shipped(),
    };
    let mut model = open_model(&args.agent)?;
    let config = config(texts, &args.agent)?;
    let telemetry = Arc::new(telemetry(&args.agent, args.simulated_time.then_some(args.agent.seed))?);
    let clock: Arc<dyn Clock> = if args.simulated_time { Arc::new(SimulatedClock::new()) } else { Arc::new(RealClock) };
    let agent = Agent::new(config, Arc::new(LocalTools::new(args.agent.seed)), clock, telemetry);
    let mut told = Vec::new();
    let mut failed = None;
    for (number, question) in asked.iter().enumerate() {
        let outcome = agent.run(model.as_mut(), question).map_err(|error| trace_failure(&args.agent, error))?;
        match args.format {
            Format::Json => told.push(as_json(&outcome)),
            Format::Text => {
                let between = if number == 0 { "" } else { "\n" };
                let text = words::run(texts, &in_words(&outcome, &args.agent.faults));
                terminal::write_result(&format!("{between}{text}"), None)?;
            }
        }
        if let Ending::ModelFailed(error) = outcome.ending {
            // The next question would only fail in the same way.
            failed = Some(error);
            break;
        }
    }
    if args.format == Format::Json {
        terminal::write_result(&(serde_json::to_string_pretty(&told)? + "\n"), None)?;
    }
    failed.map_or(Ok(exit::OK), |error| Err(Failure::from(error).into()))
}

/// The shipped question of this text, or a free one: a fault then knows which calls to expect.
fn of_text(text: &str) -> Question {
    questions::shipped().into_iter().find(|question| question.text == text).unwrap_or_else(|| Question::free(text))
}

fn serve_turns(texts: &Texts, args: &ServeArgs) -> anyhow::Result<u8> {
    let model = open_model(&args.agent)?;
    let config = config(texts, &args.agent)?;
    let telemetry = Arc::new(telemetry(&args.agent, None)?);
    let (listener, address) = listen(&args.listen, Some(8750))?;
    let (told, faults, quiet) = (Texts::korean(), args.agent.faults.clone(), args.quiet);
    let setup = serve::Setup {
        limits: serve::Limits::default(),
        model,
        config,
        toolbox: Arc::new(LocalTools::new(args.agent.seed)),
        clock: Arc::new(RealClock),
        telemetry,
        texts: Texts::korean(),
        tell: Box::new(move |event| match event {
            serve::Event::Turn(_) if quiet => {}
            serve::Event::Turn(outcome) => terminal::tell(&words::run(&told, &in_words(outcome, &faults))),
            serve::Event::TraceLost(error) => terminal::tell(&words::trace_lost(&told, &error.to_string())),
        }),
    };
    let begin = || {
        let stop = signals()?;
        leave_at_second_signal()?;
        if !address.ip().is_loopback() {
            terminal::tell(&words::open_to_all(texts, &address.to_string()));
        }
        let url = format!("http://{address}/");
        if !args.quiet {
            let traces = args.agent.traces.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
            terminal::tell(&words::listening(texts, &url, &traces));
        }
        // A closed standard output keeps nobody from sending.
        terminal::write_result(&format!("{url}\n"), None).ok();
        Ok(stop)
    };
    let totals =
        serve::run(listener, setup, begin).map_err(|error| Failure::unreadable("other").with("message", error))?;
    if !args.quiet {
        terminal::tell(&words::served(texts, totals.turns, totals.duplicates, totals.refused));
    }
    if totals.cut > 0 {
        terminal::tell(&words::turns_cut(texts, totals.cut));
    }
    Ok(if totals.cut + totals.traces_lost > 0 { exit::UNREADABLE } else { exit::OK })
}

/// Who asks a second time does not want to wait for turns under way.
fn leave_at_second_signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        for _ in 0..2 {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        }
        std::process::exit(i32::from(exit::INTERRUPTED));
    });
    Ok(())
}

fn open_model(args: &AgentArgs) -> Result<Box<dyn ChatModel>, Failure> {
    let script = ScriptConfig { seed: args.seed, omits_percent: args.script_omits, ..ScriptConfig::default() };
    args.model.open(&args.model.options.budget()?, || Box::new(ScriptModel::new(script)))
}

fn config(texts: &Texts, args: &AgentArgs) -> anyhow::Result<AgentConfig> {
    let tools = tools(texts, args.tools.as_deref())?;
    Ok(AgentConfig {
        faults: args.faults.clone(),
        seed: args.seed,
        max_tool_calls: usize::from(args.max_tool_calls),
        ..AgentConfig::new(tools)
    })
}

/// The definitions in a file, or those that are shipped.
fn tools(texts: &Texts, path: Option<&Path>) -> anyhow::Result<Vec<ToolDefinition>> {
    let mut loaded = Loaded::default();
    if let Some(set) = load::read_tools(texts, &LoadArgs::plain(path.map(Path::to_owned)), &mut loaded)? {
        load::tell_issues(texts, &loaded);
        return Ok(set.tools);
    }
    let shipped = parse_tools(TOOLS_JSON, "tools.json", ToolDefaults::default());
    let (set, _) = shipped.map_err(|error| tools_failure(Path::new("tools.json"), &error))?;
    Ok(set.tools)
}

fn telemetry(args: &AgentArgs, seed: Option<u64>) -> anyhow::Result<Telemetry> {
    let mut setup = TelemetrySetup { otlp_endpoint: args.otlp_endpoint.clone(), seed, ..TelemetrySetup::default() };
    if let Some(path) = &args.traces {
        terminal::refuse_over_inputs(Some(path), args.tools.as_deref())?;
        terminal::refuse_store(path)?;
        let file = TraceFile::open(path).map_err(|error| terminal::not_written(Some(path), error))?;
        setup.lines = Some(Box::new(file));
    }
    Telemetry::new(setup).map_err(|error| trace_failure(args, error))
}

fn trace_failure(args: &AgentArgs, error: TraceError) -> anyhow::Error {
    let endpoint = args.otlp_endpoint.clone().unwrap_or_default();
    match error {
        TraceError::Write(error) => match &args.traces {
            Some(path) => terminal::not_appended(path, error),
            None => terminal::not_written(None, error),
        },
        TraceError::Endpoint { message } => {
            Failure::usage("bad_otlp_endpoint").with("value", endpoint).with("message", message).into()
        }
        TraceError::Send { message } => {
            Failure::unreadable("otlp_not_sent").with("value", endpoint).with("message", message).into()
        }
    }
}

fn in_words(outcome: &RunOutcome, faults: &[Fault]) -> ToldRun {
    let missed = |fault: &&Fault| !outcome.injected.iter().any(|injected| injected.fault == **fault);
    ToldRun {
        trace_id: outcome.trace_id.clone(),
        question: outcome.question.clone(),
        answer: outcome.answer.clone(),
        ended: outcome.ending.error_type(),
        calls: outcome
            .calls
            .iter()
            .map(|call| ToldCall {
                tool: call.tool.clone(),
                arguments: call.arguments.clone(),
                error: call.error.clone(),
                duration_ms: call.duration_ms,
            })
            .collect(),
        injected: outcome.injected.iter().map(|injected| (injected.fault.as_str(), injected.tool.clone())).collect(),
        not_injected: faults.iter().filter(missed).map(|fault| fault.as_str()).collect(),
    }
}

fn as_json(outcome: &RunOutcome) -> Value {
    json!({
        "trace_id": outcome.trace_id,
        "question": outcome.question,
        "answer": outcome.answer,
        "status": outcome.status.as_str(),
        "error_type": outcome.ending.error_type(),
        "calls": outcome.calls,
        "injected": outcome.injected,
        "usage": { "input_tokens": outcome.usage.input_tokens, "output_tokens": outcome.usage.output_tokens },
    })
}
