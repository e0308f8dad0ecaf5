//! Who writes the drafts of tool descriptions: arguments that `diagnose` and `tools apply-draft` share.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;

use super::failure::Failure;
use super::model::{self, ModelChoice};
use super::{load, terminal};
use crate::chat::budget::Budget;
use crate::chat::http::Limits;
use crate::chat::{ChatError, ChatModel};
use crate::diagnose::{DraftMode, JudgedRun};
use crate::drafts::{self, DraftTask, NoDraft, objection};
use crate::model::ModelDraft;
use crate::render::drafts::{Words, words};
use crate::render::{Texts, errors};
use crate::store::Store;

/// The model that `--draft claude` asks unless another one is named.
const CLAUDE_MODEL: &str = "claude-sonnet-5";

/// 도구 설명 수정안을 무엇으로 쓰는지
#[derive(Debug, clap::Args)]
pub(crate) struct DraftArgs {
    /// 도구 설명 수정안: template(규칙으로, 기본), claude, openai, off. 모델에는
    /// 도구의 이름·설명·스키마와 빠진 키만 보냅니다(인자의 값은 보내지 않습니다)
    #[arg(
        long,
        value_name = "방식",
        value_enum,
        default_value_t = DraftArg::Template,
        hide_possible_values = true,
        hide_default_value = true
    )]
    draft: DraftArg,
    /// 수정안을 쓸 모델(claude 의 기본은 claude-sonnet-5, openai 는 꼭 적습니다)
    #[arg(long, value_name = "이름")]
    draft_model: Option<String>,
    /// 모델 서버의 주소(예: http://10.0.0.5:8000/v1). 없으면 그 회사의 서버
    #[arg(long, value_name = "주소")]
    draft_base_url: Option<String>,
    /// 모델의 답을 기다리는 시간(초, 기본 60)
    #[arg(
        long,
        value_name = "초",
        default_value_t = 60,
        hide_default_value = true,
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    draft_timeout: u64,
    /// 모델 서버가 바쁘거나 끊겼을 때 다시 보내는 횟수(기본 2)
    #[arg(
        long,
        value_name = "번",
        default_value_t = 2,
        hide_default_value = true,
        value_parser = clap::value_parser!(u32).range(0..=10)
    )]
    draft_retries: u32,
}

/// Who writes drafts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DraftArg {
    /// 규칙으로 만듭니다
    Template,
    /// Claude 가 씁니다
    Claude,
    /// OpenAI 나 같은 형식의 서버가 씁니다
    Openai,
    /// 만들지 않습니다
    Off,
}

impl DraftArgs {
    /// What a judgement makes: the drafts by rule stand wherever the model has none.
    pub(crate) fn mode(&self) -> DraftMode {
        if self.draft == DraftArg::Off { DraftMode::Off } else { DraftMode::Template }
    }

    /// The model that writes the drafts; none when they are made by rule. Fails before anything is judged.
    pub(crate) fn drafter(&self) -> Result<Option<Drafter>, Failure> {
        let choice = match self.draft {
            DraftArg::Template | DraftArg::Off => {
                if self.draft_model.is_some() || self.draft_base_url.is_some() {
                    return Err(Failure::usage("draft_model_unused"));
                }
                return Ok(None);
            }
            DraftArg::Claude => {
                ModelChoice::Anthropic(self.draft_model.clone().unwrap_or_else(|| CLAUDE_MODEL.to_owned()))
            }
            DraftArg::Openai => {
                let Some(name) = self.draft_model.clone() else { return Err(Failure::usage("draft_model_missing")) };
                ModelChoice::OpenAi(name)
            }
        };
        let limits = Limits {
            request: Duration::from_secs(self.draft_timeout),
            retries: self.draft_retries,
            ..Limits::default()
        };
        let model = model::client(&choice, self.draft_base_url.as_deref(), None, limits, &Budget::default())?;
        Ok(Some(Drafter { model }))
    }
}

/// A model that writes drafts.
pub(crate) struct Drafter {
    model: Box<dyn ChatModel>,
}

/// What is left to ask for, and what was kept.
pub(crate) struct Wanted {
    tasks: Vec<DraftTask>,
    kept: BTreeMap<DraftTask, String>,
}

impl Wanted {
    /// Whether the model has to be asked.
    pub(crate) fn asks(&self) -> bool {
        !self.tasks.is_empty()
    }
}

impl Drafter {
    /// What is to be drafted for these runs, and the drafts that the store has of it.
    pub(crate) fn wanted(&self, store: &Store, runs: &[JudgedRun]) -> Result<Wanted, Failure> {
        let mut wanted = Wanted { tasks: Vec::new(), kept: BTreeMap::new() };
        for task in drafts::tasks(runs) {
            let kept = store.model_draft(&task.question(self.model.provider(), self.model.name()))?;
            // Somebody may have changed the store by hand.
            match kept.filter(|draft| objection(draft, &task).is_none()) {
                Some(draft) => drop(wanted.kept.insert(task, draft)),
                None => wanted.tasks.push(task),
            }
        }
        Ok(wanted)
    }

    /// Asks for what is wanted and puts the drafts into the runs. Returns those that are new.
    ///
    /// Where the model has none, the draft made by rule stays, and standard error tells why.
    pub(crate) fn draft(
        mut self,
        texts: &Texts,
        wanted: Wanted,
        runs: &mut [JudgedRun],
        quiet: bool,
    ) -> Vec<ModelDraft> {
        let Wanted { tasks, kept: mut drafts } = wanted;
        let (provider, name) = (self.model.provider().to_owned(), self.model.name().to_owned());
        let (of, kept) = (tasks.len(), drafts.len());
        if of + kept == 0 {
            return Vec::new();
        }
        let mut new = Vec::new();
        for (number, task) in (1..).zip(tasks) {
            let told = |key: &str, reason: String| {
                let tool = task.tool_name.clone();
                tell(texts, key, &Words { tool, model: name.clone(), reason, ..Words::default() });
            };
            match drafts::ask(texts, self.model.as_mut(), &task) {
                Ok(draft) => {
                    let question = task.question(&provider, &name);
                    new.push(ModelDraft { question, tool_name: task.tool_name.clone(), draft: draft.clone() });
                    drafts.insert(task, draft);
                }
                Err(NoDraft::Refused(why)) => told("refused", drafts::reason(texts, &why)),
                Err(NoDraft::NotAnswered(error)) => {
                    let is_of_this_tool = concerns_one_request(&error);
                    told("not_answered", first_line(texts, &error.into()));
                    // A server that is not there for one tool is not there for the next one either.
                    if !is_of_this_tool {
                        if number < of {
                            tell(texts, "given_up", &Words { by_rule: of - number, ..Words::default() });
                        }
                        break;
                    }
                }
            }
        }
        drafts::put(runs, &drafts, &name);
        if !quiet {
            let by_rule = of - new.len();
            tell(texts, "made", &Words { model: name, asked: new.len(), kept, by_rule, ..Words::default() });
        }
        new
    }
}

/// Keeps new drafts in the store. One that others use, or that may not be written to, is left alone: standard error
/// says so.
pub(crate) fn keep(texts: &Texts, db: &Path, new: &[ModelDraft]) {
    let Some(first) = new.first() else { return };
    let kept = Store::open_existing(db).and_then(|store| {
        let now = load::now();
        new.iter().try_for_each(|draft| store.keep_model_draft(draft, &now))
    });
    if let Err(error) = kept {
        let reason = first_line(texts, &Failure::from(error));
        tell(texts, "not_kept", &Words { model: first.question.model.clone(), reason, ..Words::default() });
    }
}

/// Whether the next request may well be answered.
fn concerns_one_request(error: &ChatError) -> bool {
    matches!(error, ChatError::Status { status: 400 | 413 | 422, .. } | ChatError::Unreadable { .. })
}

fn first_line(texts: &Texts, failure: &Failure) -> String {
    errors::error(texts, failure.kind, &failure.values).lines().next().unwrap_or_default().to_owned()
}

fn tell(texts: &Texts, key: &str, values: &Words) {
    terminal::tell(&(words(texts, key, values) + "\n"));
}
