//! The project file as the commands of `taco-trace eval` read it: with its cases, scripts, prompts and targets.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use super::case;
use crate::chat::ChatError;
use crate::chat::budget::{Budget, Price};
use crate::chat::http::Limits as ModelLimits;
use crate::chat::key::Key;
use crate::cli::failure::Failure;
use crate::cli::load;
use crate::cli::model::{ModelChoice, client};
use crate::eval::case::Case;
use crate::eval::freeze::freeze;
use crate::eval::script::Script;
use crate::experiment::config::Contents;
use crate::experiment::project::{
    AuthSetup, AuthValue, FILE, HttpSetup, Project, Prompt, Provider, ReferenceSetup, ScriptSetup, TargetSetup, Wrong,
    parse,
};
use crate::experiment::target::{AgentTarget, ReferenceTarget, ScriptTarget, Target};
use crate::model::{CaseProblem, FrozenCase};
use crate::near::near;
use crate::reference::default_prompt;
use crate::sandbox::{Clock, Limits as SandboxLimits, Sandbox, Setup as SandboxSetup, StartError};
use crate::target::address::system;
use crate::target::{AuthHeader, HttpTarget, Limits, TargetError};

/// 프로젝트 파일을 읽는 명령이 함께 쓰는 인자
#[derive(Debug, clap::Args)]
pub(super) struct ProjectArg {
    /// 프로젝트 파일(기본 taco-eval.toml)
    #[arg(short, long, value_name = "파일", default_value = FILE, hide_default_value = true)]
    project: PathBuf,
}

/// A project file that was read.
pub(super) struct Opened {
    pub(super) project: Project,
    folder: PathBuf,
}

/// A case of a project: as it is frozen, and as it is read.
pub(super) type ProjectCase = (FrozenCase, Arc<Case>);
/// What is wrong with the cases of a project, by file.
pub(super) type CaseProblems = Vec<(String, Vec<CaseProblem>)>;

impl ProjectArg {
    /// Reads it.
    pub(super) fn open(&self) -> Result<Opened, Failure> {
        let text = fs::read_to_string(&self.project).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Failure::unreadable("eval_no_project").with("path", self.project.display()),
            _ => load::unreadable(&self.project, &error),
        })?;
        let project = parse(&text).map_err(|error| {
            let (name, message) = error.reason.names();
            let known = error.reason.known();
            let column = if let Wrong::Syntax(column, _) = &error.reason { column.to_string() } else { String::new() };
            Failure::unreadable("eval_project")
                .with("column", column)
                .with(
                    "near",
                    near(if message.is_empty() { name } else { message }, known.iter().map(String::as_str)).join(", "),
                )
                .with("known", known.join(", "))
                .with("path", self.project.display())
                .with("line", error.line)
                .with("problem", error.reason.code())
                .with("name", name)
                .with("message", message)
        })?;
        let folder = self.project.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Opened { project, folder })
    }
}

/// The id of a project as it was asked for: that of its file, where the text is the path of one, else the text.
pub(super) fn project_id(asked: &str) -> Result<String, Failure> {
    let path = Path::new(asked);
    if !path.is_file() {
        return Ok(asked.to_owned());
    }
    Ok(ProjectArg { project: path.to_owned() }.open()?.project.id)
}

impl Opened {
    /// The target of this name; without one the only target there is.
    pub(super) fn target(&self, name: Option<&str>) -> Result<(&str, &TargetSetup), Failure> {
        let targets = &self.project.targets;
        let known = || targets.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        match name {
            Some(name) => targets
                .get_key_value(name)
                .map(|(name, setup)| (name.as_str(), setup))
                .ok_or_else(|| Failure::usage("eval_target_unknown").with("value", name).with("known", known())),
            None => match targets.iter().collect::<Vec<_>>()[..] {
                [(name, setup)] => Ok((name, setup)),
                _ => Err(Failure::usage("eval_target_needed").with("known", known())),
            },
        }
    }

    /// The cases in order of id, or everything that is wrong with them.
    pub(super) fn cases(&self) -> Result<Result<Vec<ProjectCase>, CaseProblems>, Failure> {
        let mut cases: BTreeMap<String, ProjectCase> = BTreeMap::new();
        let mut problems = Vec::new();
        for (file, text) in case::read(&[self.folder.join(&self.project.cases)])? {
            match freeze(&text) {
                Ok((frozen, case)) => {
                    if cases.contains_key(&case.id) {
                        return Err(Failure::unreadable("eval_case_twice").with("name", &case.id).with("path", file));
                    }
                    cases.insert(case.id.clone(), (frozen, Arc::new(case)));
                }
                Err(found) => problems.push((file, found)),
            }
        }
        Ok(if problems.is_empty() { Ok(cases.into_values().collect()) } else { Err(problems) })
    }

    /// What a target holds besides its setup.
    pub(super) fn contents(&self, setup: &TargetSetup) -> Result<Contents, Failure> {
        Ok(match setup {
            TargetSetup::Reference(reference) => {
                Contents { prompt: self.prompt(&reference.prompt)?, scripts: BTreeMap::new() }
            }
            TargetSetup::Http(_) => Contents::default(),
            TargetSetup::Script(script) => Contents { prompt: String::new(), scripts: self.scripts(script)? },
        })
    }

    fn prompt(&self, prompt: &Prompt) -> Result<String, Failure> {
        Ok(match prompt {
            Prompt::Default => default_prompt(),
            Prompt::Text(text) => text.clone(),
            Prompt::File(file) => self.text(file)?,
        })
    }

    fn text(&self, file: &str) -> Result<String, Failure> {
        let path = self.folder.join(file);
        fs::read_to_string(&path).map_err(|error| load::unreadable(&path, &error))
    }

    fn scripts(&self, setup: &ScriptSetup) -> Result<BTreeMap<String, Vec<Script>>, Failure> {
        let mut scripts: BTreeMap<String, Vec<Script>> = BTreeMap::new();
        let read = case::read(&[self.folder.join(&setup.scripts)])?;
        for (file, text) in read.into_iter().filter(|(file, _)| file.ends_with(&setup.scripts_end)) {
            let script: Script = serde_json::from_str(&text).map_err(|error| {
                Failure::unreadable("eval_script").with("path", &file).with("line", error.line()).with("message", error)
            })?;
            if script.format != crate::eval::script::FORMAT {
                let failure = Failure::unreadable("eval_script").with("path", &file).with("line", 1);
                return Err(failure.with("message", format!("format `{}`", script.format)));
            }
            scripts.entry(script.case_id.clone()).or_default().push(script);
        }
        Ok(scripts)
    }

    /// What the model of a target costs; none when it has none, or no price is known.
    pub(super) fn price(&self, setup: &TargetSetup) -> Option<Price> {
        let TargetSetup::Reference(reference) = setup else { return None };
        self.project.prices.get(&reference.model).copied()
    }

    /// A target that trials can be run on. An agent is asked what it is.
    pub(super) fn build(
        &self,
        setup: &TargetSetup,
        contents: Contents,
        budget: &Budget,
    ) -> Result<Box<dyn Target>, Failure> {
        match setup {
            TargetSetup::Script(_) => Ok(Box::new(ScriptTarget { scripts: contents.scripts })),
            TargetSetup::Reference(reference) => {
                let price = self.price(setup);
                Ok(Box::new(reference_target(reference, contents.prompt, price, budget.clone())?))
            }
            TargetSetup::Http(http) => {
                let client = self.agent(http)?;
                let preflight = client.preflight().map_err(|error| target_failure(&error))?;
                let sandbox = self.sandbox()?;
                Ok(Box::new(AgentTarget { client, preflight, sandbox, answer_only: http.answer_only }))
            }
        }
    }

    /// A client of an agent; nothing is sent.
    pub(super) fn agent(&self, http: &HttpSetup) -> Result<HttpTarget, Failure> {
        let auth = http.auth.as_ref().map(|auth| self.auth(auth)).transpose()?;
        HttpTarget::new(&http.address, http.allow_private_target, &system, auth, Limits::default())
            .map_err(|error| target_failure(&error))
    }

    fn auth(&self, auth: &AuthSetup) -> Result<AuthHeader, Failure> {
        let (text, name) = match &auth.value {
            AuthValue::Env(name) => (std::env::var(name).ok(), name),
            AuthValue::File(file) => (Some(self.text(file)?), file),
        };
        let key = text.and_then(|text| Key::new(&text));
        let key = key.ok_or_else(|| Failure::usage("eval_auth_missing").with("name", name))?;
        AuthHeader::new(&auth.header, &key).map_err(|error| target_failure(&error))
    }

    fn sandbox(&self) -> Result<Sandbox, Failure> {
        let listen = self.project.sandbox_listen;
        let unusable =
            |error: std::io::Error| Failure::unreadable("eval_sandbox").with("value", listen).with("message", error);
        let listener = TcpListener::bind(listen).map_err(unusable)?;
        Sandbox::start(listener, sandbox_setup(self.project.sandbox_url.clone())).map_err(|error| match error {
            StartError::System(error) => unusable(error),
            StartError::PublicUrl => {
                let url = self.project.sandbox_url.clone().unwrap_or_default();
                Failure::unreadable("eval_sandbox_url").with("value", url)
            }
        })
    }
}

fn reference_target(
    setup: &ReferenceSetup,
    prompt: String,
    price: Option<Price>,
    budget: Budget,
) -> Result<ReferenceTarget, Failure> {
    let choice = match setup.provider {
        Provider::Anthropic => ModelChoice::Anthropic(setup.model.clone()),
        Provider::Openai => ModelChoice::OpenAi(setup.model.clone()),
    };
    let base_url = setup.base_url.clone();
    let open = move || client(&choice, base_url.as_deref(), price, ModelLimits::default(), &budget);
    // A key that is missing ends the command, not every trial.
    drop(open()?);
    let begun = Instant::now();
    Ok(ReferenceTarget {
        prompt,
        max_tokens: setup.max_tokens,
        policies: setup.policies,
        price,
        open: Box::new(move || open().map_err(|failure| ChatError::Setup { message: failure.to_string() })),
        clock: Box::new(move || begun.elapsed()),
    })
}

/// A sandbox with the usual limits and the time of this machine.
pub(super) fn sandbox_setup(public_url: Option<String>) -> SandboxSetup {
    let begun = Instant::now();
    SandboxSetup {
        limits: SandboxLimits::default(),
        clock: Clock { elapsed: Box::new(move || begun.elapsed()), now: Box::new(SystemTime::now) },
        public_url,
    }
}

/// Why an agent cannot be asked.
pub(super) fn target_failure(error: &TargetError) -> Failure {
    Failure::unreadable("eval_target").with("problem", error.code()).with("message", error)
}
