//! What a question in SQL comes to: columns, cells, and the relations there are to ask.

/// A column of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name; several columns may have the same.
    pub name: String,
    /// Whether it holds numbers.
    pub is_number: bool,
}

/// A value of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// NULL.
    Null,
    /// BOOLEAN.
    Bool(bool),
    /// An integer of up to 128 bits.
    Integer(i128),
    /// An integer beyond that, or a DECIMAL: its digits as they are.
    Decimal(String),
    /// FLOAT or DOUBLE; may be NaN or infinite.
    Float(f64),
    /// VARCHAR, and what has no form of its own: UUID, ENUM, BIT.
    Text(String),
    /// JSON, as text.
    Json(String),
    /// A date, a time, an instant or an interval, as DuckDB writes it.
    Time(String),
    /// BLOB.
    Blob(Vec<u8>),
    /// LIST or ARRAY.
    List(Vec<Cell>),
    /// STRUCT: names and values.
    Struct(Vec<(String, Cell)>),
    /// MAP: keys and values.
    Map(Vec<(Cell, Cell)>),
}

/// A row: a cell for each column.
pub type Row = Vec<Cell>;

/// A table or view that can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// Its name.
    pub name: String,
    /// Whether it is a view.
    pub is_view: bool,
    /// What it is, empty when nothing says so.
    pub comment: String,
    /// Its columns in order.
    pub columns: Vec<RelationColumn>,
}

/// A column of a table or view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationColumn {
    /// Its name.
    pub name: String,
    /// Its type as SQL writes it.
    pub type_name: String,
    /// What it is, empty when nothing says so.
    pub comment: String,
}

/// A worked question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Example {
    /// Name of the file under `sql/examples/` without number and ending; its question is a text of that key.
    pub name: &'static str,
    /// The statement, ended by a semicolon and a line break.
    pub sql: &'static str,
}
