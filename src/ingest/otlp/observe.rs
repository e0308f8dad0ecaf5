//! What a span shows beside what becomes of it, for `taco-trace doctor` and `tools`.
//!
//! Runs only when the reading is observed. Owns where the facts of a span are; the sums are those of
//! `ingest::observe`.

use std::borrow::Cow;

use serde::Deserialize;

use super::any_value::{AnyValue, AttributeList, Attributes};
use super::ids::Id;
use super::{Span, row};
use crate::ingest::convention::{CONVERSATION_KEYS, Recognised, SpanData};
use crate::ingest::definitions;
use crate::ingest::document::json::read_raw;
use crate::ingest::document::sink::Sink;
use crate::ingest::messages;
use crate::model::{Operation, TraceId};

#[derive(Deserialize)]
struct KeyOnly<'j> {
    #[serde(borrow, default)]
    key: Cow<'j, str>,
}

impl<'de> Span<'de> {
    /// Notes what the span shows; what its row shows is noted when it becomes one.
    pub(super) fn observe(&self, sink: &mut Sink<'_, 'de>, data: &SpanData<'_, 'de>, recognised: &Recognised<'_>) {
        let conventions = sink.context.conventions;
        let keys = conventions.observed_keys();
        let mut attributes = Attributes::default();
        attributes.clear(keys);
        if let Some(list) = self.attributes {
            read_raw(list, &mut AttributeList { keys, attributes: &mut attributes });
        }
        let start_ns = row::time(self.start, "startTimeUnixNano").unwrap_or_default();
        let own = SpanData { attributes: &attributes, ..*data };
        let definitions = definitions::of_span(conventions, &own, start_ns);
        let conversation = CONVERSATION_KEYS.iter().find_map(|key| {
            let value = attributes.get(keys.slot(key)?).and_then(AnyValue::scalar)?;
            Some((value.into_owned(), Id::<TraceId>::read(self.trace_id).known()?.to_string()))
        });
        let is_run = matches!(recognised, Recognised::Kept(_, Operation::InvokeAgent));
        let may_hold_messages = is_run || matches!(recognised, Recognised::Unknown);
        let with_messages = may_hold_messages && messages::are_recorded(conventions, data, is_run);
        let operation = match recognised {
            Recognised::Kept(..) => None,
            Recognised::Neither | Recognised::Unknown => {
                Some(conventions.operation_name(data.attributes).unwrap_or_default().into_owned())
            }
        };
        let unknown_keys = match (recognised, operation.as_deref()) {
            (Recognised::Unknown, Some("")) => self.keys(),
            _ => Vec::new(),
        };
        let Some(group) = sink.observed_group() else { return };
        group.seen.spans += 1;
        group.seen.with_messages += u64::from(with_messages);
        group.seen.with_definitions += u64::from(!definitions.is_empty());
        group.definitions.extend(definitions);
        group.conversations.extend(conversation);
        if let Some(operation) = operation {
            group.count_operation(&operation);
        }
        for key in unknown_keys {
            group.count_unknown_key(key);
        }
    }

    fn keys(&self) -> Vec<String> {
        let list: Vec<KeyOnly> = self.attributes.and_then(|list| serde_json::from_str(list).ok()).unwrap_or_default();
        list.into_iter().map(|entry| entry.key.into_owned()).collect()
    }
}
