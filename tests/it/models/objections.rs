//! Which drafts of a model are refused, and how it is asked.

use std::collections::VecDeque;

use taco_trace::chat::{ChatError, ChatModel, ChatReply, ChatRequest, Finish, Message, Usage};
use taco_trace::drafts::{DraftTask, NoDraft, Objection, ask, objection, reason};
use taco_trace::render::Texts;

fn task() -> DraftTask {
    DraftTask {
        tool_name: "search_regulation".to_owned(),
        description: "규정을 찾습니다. 부서는 org_chart 를 따릅니다. 날짜는 `YYYY-MM-DD` 입니다.".to_owned(),
        json_schema: r#"{"type": "object", "required": ["query", "dept_code"], "properties": {
            "query": {"type": "string"}, "dept_code": {"type": "string"}, "sortBy": {"enum": ["by_date", 3]},
            "filter": {"type": "object", "properties": {"from_date": {"default": "no_limit"}}}}}"#
            .to_owned(),
        missing_keys: vec!["dept_code".to_owned()],
    }
}

fn unknown(fields: &[&str]) -> Option<Objection> {
    Some(Objection::UnknownFields(fields.iter().map(|field| (*field).to_owned()).collect()))
}

#[test]
fn draft_may_name_what_is_there() {
    for draft in [
        "규정을 찾습니다. dept_code 는 빠뜨리면 안 됩니다.",
        "`dept_code` 를 꼭 넣으세요.",
        "search_regulation 은 규정을 찾습니다. `query` 와 sortBy 를 받습니다.",
        "org_chart 를 따르고, 날짜는 `YYYY-MM-DD` 로 적으세요.",
        "sortBy 에는 `by_date` 나 `3` 을 넣으세요. 없으면 `no_limit` 입니다.",
        "OpenAI 의 JSON Schema 를 따르는 REST API 입니다.",
        "2026_10 은 이름이 아닙니다.",
        "_강조_ 는 이름이 아닙니다.",
        "닫지 않은 ` 따옴표 뒤는 인용이 아닙니다.",
        "부서 코드를 빠뜨리지 마세요.\n",
    ] {
        assert_eq!(objection(draft, &task()), None, "{draft}");
    }
}

#[test]
fn draft_that_names_another_field_is_refused() {
    for (draft, fields) in [
        ("dept_id 를 넣으세요.", &["dept_id"][..]),
        ("deptCode 를 넣으세요.", &["deptCode"]),
        ("`부서` 를 넣으세요.", &["부서"]),
        ("`dept` 와 `dept`, user_id 를 넣으세요.", &["dept", "user_id"]),
        ("(from_date) 를 넣으세요.", &["from_date"]),
        ("args.dept_code.sub_code 를 넣으세요.", &["sub_code"]),
        ("Dept_Code 를 넣으세요.", &["Dept_Code"]),
    ] {
        assert_eq!(objection(draft, &task()), unknown(fields), "{draft}");
    }
}

#[test]
fn draft_that_is_no_description_is_refused() {
    for draft in ["부서 코드를 넣는다.", "부서 코드를 넣으세요", "Pass dept_code.", "넣으세요. 끝"]
    {
        assert_eq!(objection(draft, &task()), Some(Objection::NotPolite), "{draft}");
    }
    assert_eq!(objection(" \n", &task()), Some(Objection::Empty));
    let long = |chars: usize| "가".repeat(chars - 3) + "니다.";
    assert_eq!(objection(&long(3_999), &task()), None);
    assert_eq!(objection(&long(4_000), &task()), None);
    assert_eq!(objection(&long(4_001), &task()), Some(Objection::TooLong));
    // Without a schema that can be read nothing can be named.
    let broken = DraftTask { json_schema: "{".to_owned(), ..task() };
    assert_eq!(objection("dept_code 를 넣으세요.", &broken), unknown(&["dept_code"]));
}

/// A model that says what it is told to.
struct Said {
    replies: VecDeque<Result<(&'static str, Finish), ChatError>>,
    asked: Vec<ChatRequest>,
}

impl Said {
    fn new(replies: impl IntoIterator<Item = Result<(&'static str, Finish), ChatError>>) -> Self {
        Self { replies: replies.into_iter().collect(), asked: Vec::new() }
    }
}

impl ChatModel for Said {
    fn provider(&self) -> &str {
        "script"
    }

    fn name(&self) -> &str {
        "said"
    }

    fn chat(&mut self, request: &ChatRequest) -> Result<ChatReply, ChatError> {
        self.asked.push(request.clone());
        let (text, finish) = self.replies.pop_front().unwrap_or(Err(ChatError::NothingLeft))?;
        let (calls, usage) = (Vec::new(), Usage::default());
        Ok(ChatReply { text: text.to_owned(), calls, finish, usage, model: "said".to_owned() })
    }
}

const GOOD: &str = "dept_code 를 꼭 넣으세요.";

#[test]
fn model_is_told_the_tool_and_the_keys() {
    let mut model = Said::new([Ok(("  dept_code 를 꼭 넣으세요.\n", Finish::Stop))]);
    assert_eq!(ask(&Texts::korean(), &mut model, &task()).as_deref(), Ok(GOOD));
    let [request] = &model.asked[..] else { panic!("{:?}", model.asked) };
    let [Message::User(text)] = &request.messages[..] else { panic!("{:?}", request.messages) };
    for part in ["search_regulation", "규정을 찾습니다.", "\"missing_keys\": [\n    \"dept_code\"\n  ]", "properties"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(request.tools.is_empty() && !request.system.is_empty() && request.max_tokens > 0);
}

#[test]
fn model_is_asked_once_more_with_the_reason() {
    let texts = Texts::korean();
    for (first, finish, why) in [
        ("dept_id 를 넣으세요.", Finish::Stop, Objection::UnknownFields(vec!["dept_id".to_owned()])),
        ("넣는다.", Finish::Stop, Objection::NotPolite),
        (GOOD, Finish::Length, Objection::CutOff),
        ("", Finish::Refused, Objection::Declined),
        ("", Finish::Stop, Objection::Empty),
    ] {
        let mut model = Said::new([Ok((first, finish)), Ok((GOOD, Finish::Stop))]);
        assert_eq!(ask(&texts, &mut model, &task()).as_deref(), Ok(GOOD), "{why:?}");
        let [_, again] = &model.asked[..] else { panic!("{:?}", model.asked) };
        let Some(Message::User(told)) = again.messages.last() else { panic!("{:?}", again.messages) };
        assert!(told.contains(&reason(&texts, &why)), "{told}");
        assert!(!reason(&texts, &why).is_empty(), "{why:?}");
        // Twice is enough.
        let mut model = Said::new([Ok((first, finish)), Ok((first, finish)), Ok((GOOD, Finish::Stop))]);
        assert_eq!(ask(&texts, &mut model, &task()), Err(NoDraft::Refused(why)));
        assert_eq!(model.asked.len(), 2);
    }
    let mut model = Said::new([Ok(("넣는다.", Finish::Stop)), Err(ChatError::NothingLeft)]);
    assert_eq!(ask(&texts, &mut model, &task()), Err(NoDraft::NotAnswered(ChatError::NothingLeft)));
}

#[test]
fn question_is_named_by_the_tool_and_its_keys() {
    let name = |task: &DraftTask| task.question("anthropic", "m");
    assert_eq!(name(&task()), name(&task()));
    for other in [
        DraftTask { tool_name: "other".to_owned(), ..task() },
        DraftTask { description: "다릅니다.".to_owned(), ..task() },
        DraftTask { json_schema: "{}".to_owned(), ..task() },
        DraftTask { missing_keys: vec!["query".to_owned()], ..task() },
    ] {
        assert_ne!(name(&other), name(&task()));
    }
    assert_ne!(task().question("openai", "m"), name(&task()));
    assert_ne!(task().question("anthropic", "n"), name(&task()));
}
