//! The three tools: what they find, what they refuse, and the files that are shipped.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use taco_trace::demo::{FailureKind, LocalTools, TOOLS_JSON, ToolUse, Toolbox, questions};

use super::super::support::repository;
use super::support::defined;

fn call(name: &str, arguments: &str) -> Result<Value, FailureKind> {
    let reply = LocalTools::new(1).call(&ToolUse { name, arguments });
    assert!(reply.takes > Duration::ZERO);
    reply.result.map_err(|failure| {
        assert!(!failure.message.is_empty() && !failure.message.contains('{'), "{}", failure.message);
        failure.kind
    })
}

#[test]
fn search_ranks_the_articles_of_a_department() {
    let found = call("search_regulation", r#"{"query":"출장비 정산 기한","dept_code":"D-1101"}"#).unwrap();
    assert!(found["articles"][0]["title"].as_str().unwrap().contains("출장비 정산"), "{found}");
    assert!(found["articles"].as_array().unwrap().len() <= 3);
    // A particle glued to the word changes nothing.
    let glued = call("search_regulation", r#"{"query":"출장비를 정산하는 기한은","dept_code":"D-1101"}"#).unwrap();
    assert_eq!(found["articles"][0], glued["articles"][0]);
    // Another department has no such article.
    let other = call("search_regulation", r#"{"query":"출장비","dept_code":"D-1602"}"#).unwrap();
    assert_eq!(other, json!({ "articles": [] }));
    assert_eq!(call("search_regulation", r#"{"query":"","dept_code":"D-1101"}"#).unwrap(), json!({ "articles": [] }));
}

#[test]
fn every_question_about_regulations_finds_its_article_first() {
    let needs = ["출장비 정산", "연차 휴가", "법인카드", "예산 이월", "개인정보 파기", "일상 감사", "민원 처리 기한"];
    for (number, (need, code)) in
        needs.iter().zip(["D-1101", "D-1102", "D-1203", "D-1201", "D-1305", "D-1401", "D-1502"]).enumerate()
    {
        let question = &questions::shipped()[number].text;
        let query = question.split_once(' ').unwrap().1;
        let found = call("search_regulation", &json!({ "query": query, "dept_code": code }).to_string()).unwrap();
        assert!(found["articles"][0]["title"].as_str().unwrap().contains(need), "{question}: {found}");
    }
}

#[test]
fn org_chart_and_budget_answer() {
    let found = call("org_chart_lookup", r#"{"dept_name":" 재무과 "}"#).unwrap();
    assert_eq!(found, json!({ "dept_name": "재무과", "dept_code": "D-1203" }));
    let found = call("budget_api", r#"{"dept_code":"D-1203","year":2026,"quarter":2}"#).unwrap();
    assert_eq!(found["dept_name"], "재무과");
    assert!(found["spent_krw"].as_i64().unwrap() <= found["budget_krw"].as_i64().unwrap());
}

#[test]
fn wrong_arguments_are_a_tool_error() {
    let wrong = [
        ("search_regulation", r#"{"query":"출장비"}"#),
        ("search_regulation", r#"{"dept_code":"D-1101"}"#),
        ("search_regulation", r#"{"query":1,"dept_code":"D-1101"}"#),
        ("search_regulation", r#"{"query":"출장비","dept_code":"D-0000"}"#),
        ("org_chart_lookup", "{}"),
        ("org_chart_lookup", r#"{"dept_name":"없는과"}"#),
        ("budget_api", r#"{"dept_code":"D-1203","year":2026}"#),
        ("budget_api", r#"{"dept_code":"D-1203","year":"2026","quarter":1}"#),
        ("budget_api", r#"{"dept_code":"D-1203","year":2026,"quarter":0}"#),
        ("budget_api", r#"{"dept_code":"D-1203","year":2026,"quarter":5}"#),
        ("budget_api", "[]"),
        ("budget_api", "{"),
        ("budget_api", ""),
    ];
    for (name, arguments) in wrong {
        assert_eq!(call(name, arguments), Err(FailureKind::InvalidArguments), "{name} {arguments}");
    }
    for quarter in [1, 4] {
        let arguments = json!({ "dept_code": "D-1203", "year": 2025, "quarter": quarter }).to_string();
        assert!(call("budget_api", &arguments).is_ok(), "{arguments}");
    }
    let none = r#"{"dept_code":"D-1203","year":1999,"quarter":1}"#;
    assert_eq!(call("budget_api", none), Err(FailureKind::ToolError));
    assert_eq!(call("no_such_tool", "{}"), Err(FailureKind::ToolNotFound));
}

#[test]
fn description_of_the_search_leaves_the_department_out() {
    let tools = defined(TOOLS_JSON);
    assert_eq!(
        tools.iter().map(|tool| tool.tool_name.as_str()).collect::<Vec<_>>(),
        ["search_regulation", "org_chart_lookup", "budget_api"]
    );
    for tool in &tools {
        assert!(tool.timeout_ms.is_some() && tool.max_retries.is_some());
        for param in tool.params.iter().filter(|param| param.required_position.is_some()) {
            let left_out = tool.tool_name == "search_regulation" && param.key == "dept_code";
            assert_eq!(tool.description.contains(&param.key), !left_out, "{} {}", tool.tool_name, param.key);
        }
    }
    let fixture = std::fs::read_to_string(repository().join("fixtures/demo/tools.json")).unwrap();
    assert_eq!(fixture, TOOLS_JSON);
}

#[test]
fn twenty_questions_and_more_need_tools_that_are_there() {
    let questions = questions::shipped();
    assert!(questions.len() >= 20);
    let ids: BTreeSet<&str> = questions.iter().map(|question| question.id.as_str()).collect();
    assert_eq!(ids.len(), questions.len());
    let tools: Vec<String> = defined(TOOLS_JSON).into_iter().map(|tool| tool.tool_name).collect();
    for question in &questions {
        assert!(!question.tools.is_empty() && question.tools.iter().all(|tool| tools.contains(tool)));
    }
    assert!(questions.iter().filter(|question| question.tools.len() > 2).count() >= 3);
}
