//! Amounts, and the cap: below, at and above it.

use proptest::prelude::*;
use serde_json::json;
use taco_trace::chat::anthropic;
use taco_trace::chat::budget::{Budget, Price, Spent, Usd, worst_case};
use taco_trace::chat::{Cap, ChatError, ChatModel, Usage};

use super::super::support_model::{Answer, ModelServer, claude, claude_says};
use super::{Made, question};

fn usd(text: &str) -> Usd {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn price() -> Price {
    Price { input: usd("3"), output: usd("15") }
}

#[test]
fn amounts_are_read_and_told() {
    for (text, told) in [
        ("0", "0.00"),
        ("3", "3.00"),
        ("0.15", "0.15"),
        ("0.0375", "0.0375"),
        (" 12.500000 ", "12.50"),
        ("0.000001", "0.000001"),
        ("18446744", "18446744.00"),
    ] {
        assert_eq!(usd(text).to_string(), told, "{text}");
    }
    for text in ["", "-1", "+1", "1.", ".5", "1,5", "1e3", "$1", "0.0000001", "18446745", "inf", "1.2.3"] {
        assert!(text.parse::<Usd>().is_err(), "{text}");
    }
}

#[test]
fn cost_is_that_of_the_tokens() {
    let usage = |input_tokens, output_tokens| Usage { input_tokens, output_tokens };
    assert_eq!(price().of(usage(1_000_000, 0)), usd("3"));
    assert_eq!(price().of(usage(100, 20)), usd("0.0006"));
    assert_eq!(price().of(usage(0, 0)), Usd::default());
    assert_eq!(price().of(usage(u64::MAX, u64::MAX)), price().of(usage(u64::MAX, u64::MAX)));
    assert_eq!(worst_case(0, 5), usage(0, 5));
    assert_eq!(worst_case(3, 0), usage(1, 0));
    assert_eq!(worst_case(4, 0), usage(2, 0));
}

#[test]
fn number_of_requests_is_kept_to() {
    for (allowed, asked) in [(0, 1), (1, 2), (2, 3)] {
        let server = ModelServer::answering([claude_says("예.")]);
        let made = Made { budget: Budget::new(Some(allowed), None), ..Made::default() };
        let mut model = made.claude(&server);
        let replies: Vec<_> = (0..asked).map(|_| model.chat(&question("?"))).collect();
        let expected = Err(ChatError::Cap(Cap::Calls { allowed }));
        assert_eq!(replies.iter().filter(|reply| reply.is_ok()).count() as u64, allowed);
        assert_eq!(replies.last(), Some(&expected));
        assert_eq!((server.seen().len() as u64, made.budget.spent().calls), (allowed, allowed));
    }
}

/// What is sent again is a request too.
#[test]
fn requests_sent_again_count() {
    let server = ModelServer::answering([Answer::status(500, &json!({})), claude_says("예.")]);
    let made = Made { budget: Budget::new(Some(1), None), ..Made::default() };
    let reply = made.claude(&server).chat(&question("?"));
    assert_eq!(reply, Err(ChatError::Cap(Cap::Calls { allowed: 1 })));
    assert_eq!(server.seen().len(), 1);
}

/// The worst case of the question of the tests.
fn worst() -> Usd {
    let request = question("?");
    let bytes = anthropic::body("model-1", &request).to_string().len();
    price().of(worst_case(bytes, request.max_tokens))
}

#[test]
fn cost_is_kept_to_at_its_worst() {
    let worst = worst();
    // Amounts have six decimals at most on the command line; here the exact one is put together.
    let least = usd("0.000001");
    let exact = Budget::new(None, Some(worst));
    let server = ModelServer::answering([claude_says("예.")]);
    let made = Made { budget: exact.clone(), price: Some(price()), ..Made::default() };
    made.claude(&server).chat(&question("?")).unwrap();
    // 100 tokens in, 20 out.
    let spent = exact.spent();
    assert_eq!((spent.calls, spent.cost), (1, usd("0.0006")));
    // What is left would not do for another worst case.
    let error = made.claude(&server).chat(&question("?")).unwrap_err();
    assert_eq!(error, ChatError::Cap(Cap::Cost { allowed: worst, spent: usd("0.0006"), next: worst }));
    assert_eq!((server.seen().len(), exact.spent()), (1, spent), "nothing was sent, nothing counted");

    let above = Budget::new(None, Some(worst.plus(usd("0.0006"))));
    let made = Made { budget: above.clone(), price: Some(price()), ..Made::default() };
    made.claude(&server).chat(&question("?")).unwrap();
    made.claude(&server).chat(&question("?")).unwrap();
    assert_eq!(above.spent().cost, usd("0.0012"));

    let below = Budget::new(None, Some(usd("0.0006").plus(least)));
    let made = Made { budget: below.clone(), price: Some(price()), ..Made::default() };
    assert!(matches!(made.claude(&server).chat(&question("?")), Err(ChatError::Cap(Cap::Cost { .. }))));
    assert_eq!(below.spent(), Spent::default());
}

#[test]
fn cap_on_costs_needs_a_price() {
    let server = ModelServer::answering([claude_says("예.")]);
    let made = Made { budget: Budget::new(None, Some(usd("100"))), ..Made::default() };
    let expected = ChatError::NoPrice { model: "model-1".to_owned() };
    assert_eq!(made.claude(&server).chat(&question("?")), Err(expected));
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn what_was_refused_costs_nothing_and_what_was_lost_its_worst() {
    let cut = Answer::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{".to_vec());
    let mut without_usage = claude(&json!([]), "end_turn");
    without_usage["usage"] = json!(null);
    without_usage.as_object_mut().unwrap().remove("usage");
    for (answers, cost) in [
        (vec![Answer::status(500, &json!({})), Answer::status(401, &json!({}))], Usd::default()),
        (vec![cut, Answer::status(401, &json!({}))], worst()),
        (vec![Answer::ok(&without_usage)], worst()),
        (vec![Answer::ok(&json!({ "not": "a message" }))], worst()),
    ] {
        let server = ModelServer::answering(answers.clone());
        let made = Made { price: Some(price()), ..Made::default() };
        made.claude(&server).chat(&question("?")).ok();
        assert_eq!(made.budget.spent().cost, cost, "{answers:?}");
    }
}

proptest! {
    /// However many models share it: no cap is passed as long as no reply is larger than its worst case.
    #[test]
    fn cap_is_never_passed(
        allowed in 0_u64..2_000_000,
        calls in 0_u64..20,
        requests in proptest::collection::vec((0_u64..50_000, 0_u64..5_000, 0.0..=1.0_f64, 0..3_u8), 0..40),
    ) {
        let allowed = usd(&format!("{}.{:06}", allowed / 1_000_000, allowed % 1_000_000));
        let budget = Budget::new(Some(calls), Some(allowed));
        let mut sent = 0_u64;
        let mut cost = Usd::default();
        for (input, output, part, end) in requests {
            let worst = Usage { input_tokens: input, output_tokens: output };
            let fits = sent < calls && cost.plus(price().of(worst)) <= allowed;
            let Ok(admitted) = budget.clone().admit("m", Some(price()), worst) else {
                prop_assert!(!fits);
                continue;
            };
            prop_assert!(fits);
            sent += 1;
            let used = Usage { input_tokens: (input as f64 * part) as u64, output_tokens: (output as f64 * part) as u64 };
            let costs = match end {
                0 => { budget.refused(&admitted); Usd::default() }
                1 => { budget.settle(&admitted, None); price().of(worst) }
                _ => { budget.settle(&admitted, Some(used)); price().of(used) }
            };
            cost = cost.plus(costs);
            prop_assert_eq!((budget.spent().calls, budget.spent().cost), (sent, cost));
            prop_assert!(cost <= allowed);
        }
    }
}
