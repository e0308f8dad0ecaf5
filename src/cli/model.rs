//! Which model is asked, and within which limits: arguments that the commands with a model share.

use std::fs::{File, OpenOptions};
use std::io::BufReader;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::{Duration, SystemTime};

use super::failure::Failure;
use super::{load, terminal};
use crate::chat::anthropic::{self, Anthropic};
use crate::chat::budget::{Budget, NotAnAmount, Price, Usd};
use crate::chat::http::{Clock, Endpoint, Limits};
use crate::chat::key::Key;
use crate::chat::openai::{self, OpenAi};
use crate::chat::record::{Recorder, Replay};
use crate::chat::{Cap, ChatError, ChatModel};

/// Where the key of Anthropic is read.
pub(crate) const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";
/// Where the key of OpenAI, or of a server that speaks its form, is read.
pub(crate) const OPENAI_KEY: &str = "OPENAI_API_KEY";

/// A model as it is named on the command line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ModelChoice {
    /// `script`: the one of the command, offline.
    Script,
    /// `anthropic:NAME`.
    Anthropic(String),
    /// `openai:NAME`, at OpenAI or at any server that speaks its form.
    OpenAi(String),
}

/// Why a text names no model.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("`script`, `anthropic:이름`, `openai:이름` 가운데 하나를 적으세요")]
pub(crate) struct NoModel;

impl FromStr for ModelChoice {
    type Err = NoModel;

    fn from_str(text: &str) -> Result<Self, NoModel> {
        let named = |name: &str| Some(name.trim().to_owned()).filter(|name| !name.is_empty()).ok_or(NoModel);
        match text.trim().split_once(':') {
            None if text.trim() == "script" => Ok(Self::Script),
            Some(("anthropic", name)) => named(name).map(Self::Anthropic),
            Some(("openai", name)) => named(name).map(Self::OpenAi),
            _ => Err(NoModel),
        }
    }
}

impl std::fmt::Display for ModelChoice {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Script => formatter.write_str("script"),
            Self::Anthropic(name) => write!(formatter, "anthropic:{name}"),
            Self::OpenAi(name) => write!(formatter, "openai:{name}"),
        }
    }
}

/// A price, of one model or of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PriceArg {
    /// The model; none for all that have none of their own.
    model: Option<String>,
    price: Price,
}

/// Why a text is no price.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("입력과 출력의 값을 쉼표로 나누어 `3,15` 나 `모델=3,15` 처럼 적으세요")]
pub(crate) struct NotAPrice;

impl From<NotAnAmount> for NotAPrice {
    fn from(_: NotAnAmount) -> Self {
        Self
    }
}

impl FromStr for PriceArg {
    type Err = NotAPrice;

    fn from_str(text: &str) -> Result<Self, NotAPrice> {
        let (model, amounts) = text.rsplit_once('=').map_or((None, text), |(model, rest)| (Some(model), rest));
        let (input, output) = amounts.split_once(',').ok_or(NotAPrice)?;
        let model = model.map(|model| model.trim().to_owned());
        Ok(Self { model, price: Price { input: input.parse()?, output: output.parse()? } })
    }
}

/// 모델 하나를 쓰는 명령의 인자
#[derive(Debug, clap::Args)]
pub(crate) struct ModelArgs {
    /// 모델: script(정해진 대로, 기본), anthropic:이름, openai:이름
    #[arg(long, value_name = "모델", default_value = "script", hide_default_value = true)]
    pub(crate) model: ModelChoice,
    #[command(flatten)]
    pub(crate) options: ModelOptions,
}

/// 모델을 어떻게, 얼마까지 쓰는지
#[derive(Debug, clap::Args)]
pub(crate) struct ModelOptions {
    /// 모델 서버의 주소(예: http://10.0.0.5:8000/v1). 없으면 그 회사의 서버
    #[arg(long, value_name = "주소")]
    pub(crate) base_url: Option<String>,
    /// 모델에 보내는 요청을 이 수까지만(다시 보낸 것도 셉니다)
    #[arg(long, value_name = "수")]
    pub(crate) max_calls: Option<u64>,
    /// 모델에 쓰는 돈을 이만큼(달러)까지만. --price 가 있어야 합니다
    #[arg(long, value_name = "달러", allow_negative_numbers = true, value_parser = amount)]
    pub(crate) max_cost: Option<Usd>,
    /// 입력, 출력 토큰 백만 개의 값(달러): 3,15 또는 모델=3,15
    #[arg(long, value_name = "입력,출력")]
    pub(crate) price: Vec<PriceArg>,
    /// 모델과 주고받은 것을 이 파일 끝에 덧붙입니다(열쇠는 남지 않습니다)
    #[arg(long, value_name = "파일", conflicts_with = "replay")]
    pub(crate) record: Option<PathBuf>,
    /// 모델 대신 --record 로 남긴 파일에서 답을 꺼냅니다(연결하지 않습니다)
    #[arg(long, value_name = "파일")]
    pub(crate) replay: Option<PathBuf>,
    /// 답을 기다리는 시간(초, 기본 120)
    #[arg(
        long,
        value_name = "초",
        default_value_t = 120,
        hide_default_value = true,
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    pub(crate) model_timeout: u64,
    /// 서버가 바쁘거나 끊겼을 때 다시 보내는 횟수(기본 4)
    #[arg(
        long,
        value_name = "번",
        default_value_t = 4,
        hide_default_value = true,
        value_parser = clap::value_parser!(u32).range(0..=10)
    )]
    pub(crate) model_retries: u32,
}

fn amount(text: &str) -> Result<Usd, String> {
    text.parse().map_err(|_| "0 이상의 금액을 `0.5` 처럼 적으세요".to_owned())
}

impl ModelArgs {
    /// The model that is chosen; `script` makes the one of the command. To be called once a command: with `--replay`
    /// each model begins at the first reply.
    pub(crate) fn open(
        &self,
        budget: &Budget,
        script: impl FnOnce() -> Box<dyn ChatModel>,
    ) -> Result<Box<dyn ChatModel>, Failure> {
        self.options.refuse_unused(std::slice::from_ref(&self.model))?;
        self.options.open(&self.model, budget, script)
    }
}

impl ModelOptions {
    /// Refuses a record that no model would write or be read from: a script is asked over no network.
    pub(crate) fn refuse_unused(&self, models: &[ModelChoice]) -> Result<(), Failure> {
        let is_unused = self.record.is_some() || self.replay.is_some();
        if is_unused && models.iter().all(|model| named(model).is_none()) {
            return Err(Failure::usage("model_record_unused"));
        }
        Ok(())
    }

    /// What may be spent, over all models that are given it.
    pub(crate) fn budget(&self) -> Result<Budget, Failure> {
        if self.max_cost.is_some() && self.price.is_empty() {
            return Err(Failure::usage("model_no_price"));
        }
        Ok(Budget::new(self.max_calls, self.max_cost))
    }

    /// A model. Fails when its key is missing, its address is none, a record cannot be opened or read.
    pub(crate) fn open(
        &self,
        choice: &ModelChoice,
        budget: &Budget,
        script: impl FnOnce() -> Box<dyn ChatModel>,
    ) -> Result<Box<dyn ChatModel>, Failure> {
        if let (Some(path), Some((provider, name))) = (&self.replay, named(choice)) {
            let file = File::open(path).map_err(|error| load::unreadable(path, &error))?;
            let replay = Replay::read(provider, name, BufReader::new(file))
                .map_err(|error| Failure::from(error).with("path", path.display()))?;
            return Ok(Box::new(replay));
        }
        let limits = Limits {
            request: Duration::from_secs(self.model_timeout),
            retries: self.model_retries,
            ..Limits::default()
        };
        let model = match choice {
            ModelChoice::Script => script(),
            ModelChoice::Anthropic(name) | ModelChoice::OpenAi(name) => {
                let price = self.price_of(name);
                if self.max_cost.is_some() && price.is_none() {
                    return Err(Failure::usage("model_no_price").with("name", name));
                }
                client(choice, self.base_url.as_deref(), price, limits, budget)?
            }
        };
        let Some(path) = &self.record else { return Ok(model) };
        terminal::refuse_store(path)?;
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(|error| {
            Failure::unreadable("output_not_writable").with("path", path.display()).with("message", error)
        })?;
        Ok(Box::new(Recorder::new(model, Box::new(file))))
    }

    fn price_of(&self, name: &str) -> Option<Price> {
        let own = self.price.iter().find(|price| price.model.as_deref() == Some(name));
        own.or_else(|| self.price.iter().find(|price| price.model.is_none())).map(|price| price.price)
    }
}

/// Provider and name of a model that is asked over the network.
fn named(choice: &ModelChoice) -> Option<(&'static str, &str)> {
    match choice {
        ModelChoice::Script => None,
        ModelChoice::Anthropic(name) => Some(("anthropic", name)),
        ModelChoice::OpenAi(name) => Some(("openai", name)),
    }
}

/// A client of a model that is asked over the network, with the key from the environment.
pub(crate) fn client(
    choice: &ModelChoice,
    base_url: Option<&str>,
    price: Option<Price>,
    limits: Limits,
    budget: &Budget,
) -> Result<Box<dyn ChatModel>, Failure> {
    let clock = Clock { sleep: Box::new(std::thread::sleep), now: SystemTime::now };
    let endpoint = |default: &str, model: &str, key: Option<Key>| Endpoint {
        base_url: base_url.unwrap_or(default).to_owned(),
        model: model.to_owned(),
        key,
        price,
    };
    let made: Result<Box<dyn ChatModel>, ChatError> = match choice {
        ModelChoice::Script => Err(ChatError::NothingLeft),
        ModelChoice::Anthropic(name) => {
            let key = key(ANTHROPIC_KEY).ok_or_else(|| missing_key(ANTHROPIC_KEY))?;
            let endpoint = endpoint(anthropic::BASE_URL, name, Some(key));
            Anthropic::new(endpoint, limits, clock, budget.clone()).map(|model| Box::new(model) as _)
        }
        ModelChoice::OpenAi(name) => {
            let key = key(OPENAI_KEY);
            let endpoint = endpoint(openai::BASE_URL, name, key);
            if endpoint.key.is_none() && openai::is_openai(&endpoint.base_url) {
                return Err(missing_key(OPENAI_KEY));
            }
            OpenAi::new(endpoint, limits, clock, budget.clone()).map(|model| Box::new(model) as _)
        }
    };
    made.map_err(Failure::from)
}

fn key(variable: &str) -> Option<Key> {
    std::env::var(variable).ok().and_then(|text| Key::new(&text))
}

fn missing_key(variable: &'static str) -> Failure {
    Failure::usage("model_no_key").with("name", variable)
}

impl From<ChatError> for Failure {
    fn from(error: ChatError) -> Self {
        match error {
            ChatError::NothingLeft => Self::unreadable("model_nothing_left"),
            ChatError::Stopped => Self::unreadable("model_stopped"),
            ChatError::NotRecorded { sha256 } => Self::unreadable("model_not_recorded").with("value", sha256),
            ChatError::RecordUnreadable { line, message } => {
                Self::unreadable("model_record_unreadable").with("line", line).with("message", message)
            }
            ChatError::RecordNotWritten { message } => {
                Self::unreadable("model_record_not_written").with("message", message)
            }
            ChatError::Cap(Cap::Calls { allowed }) => Self::unreadable("model_cap_calls").with("valid", allowed),
            ChatError::Cap(Cap::Cost { allowed, spent, next }) => {
                Self::unreadable("model_cap_cost").with("valid", allowed).with("value", spent).with("needed", next)
            }
            ChatError::NoPrice { model } => Self::usage("model_no_price").with("name", model),
            ChatError::Setup { message } => Self::usage("model_setup").with("message", message),
            ChatError::Unreachable { server, message } => {
                Self::unreadable("model_unreachable").with("name", server).with("message", message)
            }
            ChatError::TimedOut { server, seconds } => {
                Self::unreadable("model_timed_out").with("name", server).with("value", seconds)
            }
            ChatError::Redirected { server, status } => {
                Self::unreadable("model_redirected").with("name", server).with("value", status)
            }
            ChatError::Status { status, message } => {
                Self::unreadable("model_status").with("value", status).with("message", message)
            }
            ChatError::Unreadable { message } => Self::unreadable("model_unreadable").with("message", message),
        }
    }
}
