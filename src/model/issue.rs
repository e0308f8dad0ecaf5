//! What could not be read as it stands: one row of the table `ingest_issues` each.
//!
//! The codes are stable and documented in README.md; the Korean reason is a template of `render`.

/// How much an issue costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is lost and nothing need be done.
    Info,
    /// Kept, but something was left out of the judgement or looks wrong.
    Warning,
    /// A line, a span or a tool definition was left out.
    DataLoss,
}

impl Severity {
    /// The text in the column `severity`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::DataLoss => "data_loss",
        }
    }
}

macro_rules! issue_codes {
    ($($(#[$doc:meta])* $variant:ident $text:literal $severity:ident,)*) => {
        /// A stable code for each kind of issue.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum IssueCode {
            $($(#[$doc])* $variant,)*
        }

        impl IssueCode {
            /// Every code, in the order documented.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The text in the column `code`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// What an issue of this code costs.
            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)* }
            }
        }
    };
}

issue_codes! {
    /// The line is not JSON. Detail: the parser's words with the column.
    NotJson "not_json" DataLoss,
    /// The line (or the document that starts on it) ends before its JSON value does. Detail: its length in bytes.
    TruncatedJson "truncated_json" DataLoss,
    /// Something stands behind the JSON value on the same line. Detail: what.
    TrailingCharacters "trailing_characters" DataLoss,
    /// The line is not UTF-8. Detail: the offset of the first wrong byte in the line.
    InvalidUtf8 "invalid_utf8" DataLoss,
    /// The line is over the limit. Detail: the limit in bytes.
    LineTooLong "line_too_long" DataLoss,
    /// The JSON is nested deeper than the limit. Detail: the limit.
    NestingTooDeep "nesting_too_deep" DataLoss,
    /// JSON, but neither an object nor an array of objects. Detail: its type.
    NotAnObject "not_an_object" DataLoss,
    /// A JSON object that is no trace data. Detail: its first keys.
    NotTraceData "not_trace_data" DataLoss,
    /// Logs or metrics in a trace file. Detail: the signal's key.
    OtherSignal "other_signal" Warning,
    /// `resourceSpans`, `scopeSpans` or `spans` is not an array, or a member of one is no object. Detail: the key.
    GroupInvalid "group_invalid" DataLoss,
    /// The compressed stream ends early or is damaged; what came before it was read. Detail: the decoder's words.
    StreamDamaged "stream_damaged" DataLoss,
    /// A message of a file of messages (protobuf, or zstd frames) cannot be decoded: it is passed over. Detail: why.
    RecordDamaged "record_damaged" DataLoss,
    /// The file ends within a message. Detail: how many bytes of it there are, of how many.
    RecordTruncated "record_truncated" DataLoss,
    /// A file that holds no traces in any form that is read. Detail: what it seems to be.
    UnknownFormat "unknown_format" DataLoss,
    /// A list of search results, which names traces and does not hold them. Detail: the key.
    SearchResults "search_results" DataLoss,
    /// Characters that are no valid Unicode (lone surrogates, wrong UTF-8) were replaced. Detail: how many.
    TextReplaced "text_replaced" Warning,
    /// A span without a trace id.
    TraceIdMissing "trace_id_missing" DataLoss,
    /// A trace id that is no 16 bytes in hex or base64. Detail: the value.
    TraceIdInvalid "trace_id_invalid" DataLoss,
    /// A span without a span id.
    SpanIdMissing "span_id_missing" DataLoss,
    /// A span id that is no 8 bytes in hex or base64. Detail: the value.
    SpanIdInvalid "span_id_invalid" DataLoss,
    /// A parent id that cannot be read: the span counts as having no parent. Detail: the value.
    ParentIdInvalid "parent_id_invalid" Warning,
    /// A kept span without a start or an end. Detail: the key.
    TimeMissing "time_missing" DataLoss,
    /// A time that is 0, negative, fractional, no number, or beyond 64 bits. Detail: key and value.
    TimeInvalid "time_invalid" DataLoss,
    /// The end lies before the start. Detail: both.
    EndBeforeStart "end_before_start" DataLoss,
    /// A kept span without the key `status`.
    StatusMissing "status_missing" DataLoss,
    /// A status code that OpenTelemetry does not have, or a status of another shape. Detail: the value.
    StatusInvalid "status_invalid" DataLoss,
    /// An execute_tool span without a tool name.
    ToolNameMissing "tool_name_missing" DataLoss,
    /// The attributes of a span are no array of key and value. Detail: their type.
    AttributesInvalid "attributes_invalid" DataLoss,
    /// An attribute key stands twice on a span: the first counts. Detail: the key.
    AttributeRepeated "attribute_repeated" Warning,
    /// A row of the span table breaks its schema. Detail: the column and why.
    RowInvalid "row_invalid" DataLoss,
    /// The arguments of a call are not JSON: they take no part in two rules. Detail: the parser's words.
    ArgsNotJson "args_not_json" Warning,
    /// The same span once more, with the same content: counted once.
    SpanRedelivered "span_redelivered" Info,
    /// The same ids once more with other content: the first is kept.
    SpanConflict "span_conflict" Warning,
    /// The parents of a span lead back to itself.
    ParentCycle "parent_cycle" Warning,
    /// A member of tools.json is no tool definition. Detail: its position and why.
    ToolInvalid "tool_invalid" DataLoss,
    /// A second definition of the same tool name: the first is kept. Detail: position and name.
    ToolRepeated "tool_repeated" Warning,
    /// `json_schema` is no JSON Schema: limits hold, the argument check is left out. Detail: position, name, why.
    ToolSchemaInvalid "tool_schema_invalid" Warning,
    /// A limit that is no integer of 1 or more: taken as not given. Detail: position, name, key, value.
    ToolLimitInvalid "tool_limit_invalid" Warning,
    /// A row of a table cannot be cut into its cells. Detail: row and why.
    TableRowInvalid "table_row_invalid" DataLoss,
    /// Bytes of a row are neither UTF-8 nor CP949. Detail: row.
    EncodingInvalid "encoding_invalid" DataLoss,
    /// A table, or a row of JSON, lacks a column. Detail: row and column.
    ColumnMissing "column_missing" DataLoss,
    /// A column stands twice: the first counts. Detail: row and column.
    ColumnRepeated "column_repeated" Warning,
    /// A column that the table does not have: it is not read. Detail: column.
    ColumnUnknown "column_unknown" Warning,
    /// The header once more, as rows of joined files have it: it is no row. Detail: row.
    HeaderRepeated "header_repeated" Warning,
    /// A cell of another type than its column. Detail: row, column and value.
    CellInvalid "cell_invalid" DataLoss,
    /// A call number that was loaded already: the first is judged. Detail: row and call number.
    CallRepeated "call_repeated" DataLoss,
    /// A second specification of an argument: the first counts. Detail: row, tool and argument.
    SpecRepeated "spec_repeated" Warning,
    /// Two tool_ids that are one name without case, spacing and separators: the first counts. Detail: row and both.
    ToolIdRepeated "tool_id_repeated" Warning,
    /// A limit of tools.json that no specification can hold: a call that keeps to the others is not judged. Detail:
    /// tool, argument and keyword.
    SpecLimitUnusable "spec_limit_unusable" Warning,
}

/// One problem, at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// What kind.
    pub code: IssueCode,
    /// Line in the (uncompressed) file, from 1; 0 when the issue concerns the file as a whole.
    pub line: u64,
    /// Offset of that line's first byte in the (uncompressed) file.
    pub byte_offset: u64,
    /// Trace, when it could be read.
    pub trace_id: Option<String>,
    /// Span, when it could be read.
    pub span_id: Option<String>,
    /// What the code leaves open (see each code); may be empty.
    pub detail: String,
    /// The first 200 characters of what was met, wrong bytes replaced.
    pub raw: String,
}

/// How many characters of the raw text an issue keeps.
pub const RAW_CHARS: usize = 200;
