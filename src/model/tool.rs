//! tools.json as the store holds it.

use super::span::JsonType;

/// A key that a tool's JSON Schema names: a row of the table `tool_params`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredParam {
    /// The key.
    pub key: String,
    /// Place in `properties`, from 0; none for a key that only `required` names.
    pub position: Option<i64>,
    /// Place in `required`, from 0; none for an optional key.
    pub required_position: Option<i64>,
    /// `properties.<key>.type` in the order written; empty when the schema does not limit the type.
    pub types: Vec<JsonType>,
}

impl DeclaredParam {
    /// The declared types as people read them: joined with `|`.
    #[must_use]
    pub fn declared_type(&self) -> String {
        self.types.iter().map(|json_type| json_type.as_str()).collect::<Vec<_>>().join("|")
    }
}

/// One tool definition (schemas/tool_definition.schema.json), and what its schema says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolDefinition {
    /// Name, compared exactly.
    pub tool_name: String,
    /// The description that the model reads; empty when the form has none.
    pub description: String,
    /// JSON Schema of the arguments, as text.
    pub json_schema: String,
    /// Time limit in milliseconds; none when neither the file nor a default gives one.
    pub timeout_ms: Option<i64>,
    /// How many equal calls may follow one another, the first included; none when nothing gives it.
    pub max_retries: Option<i64>,
    /// Whether `json_schema` is a JSON Schema; its argument check is left out otherwise.
    pub schema_readable: bool,
    /// The keys of the schema: those of `properties` in order, then those that only `required` names.
    pub params: Vec<DeclaredParam>,
}

/// A tools.json, versioned by its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSet {
    /// sha256 (hex) of the definitions as read, defaults included: equal sets are one version.
    pub sha256: String,
    /// Where it came from.
    pub source: String,
    /// The definitions, in order, names unique.
    pub tools: Vec<ToolDefinition>,
}
