//! Arrow arrays to plain cells.

use duckdb::Statement;
use duckdb::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, DictionaryArray, PrimitiveArray, StructArray,
    UnionArray,
};
use duckdb::arrow::datatypes::{
    ArrowDictionaryKeyType, DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit, Time64MicrosecondType, Time64NanosecondType,
    TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use duckdb::core::LogicalTypeId;

use super::times;
use crate::model::{Cell, Column, Row};

/// What Arrow does not say of a column and DuckDB does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nature {
    /// Nothing more.
    Plain,
    /// Text that is JSON.
    Json,
    /// UHUGEINT, which Arrow has as a signed number.
    Unsigned,
    /// BIT, which Arrow has as bytes: how many bits of the second byte do not count, then the bits.
    Bits,
    /// A type of which Arrow loses a part.
    Lossy,
}

/// The columns of a statement that was executed, each with its nature.
pub(super) fn columns(statement: &Statement<'_>) -> (Vec<Column>, Vec<Nature>) {
    let names = statement.column_names();
    let of_column = |(index, name): (usize, &String)| {
        let logical = statement.column_logical_type(index);
        let nature = match logical.try_id() {
            Ok(LogicalTypeId::UHugeint) => Nature::Unsigned,
            Ok(LogicalTypeId::Bit) => Nature::Bits,
            Ok(LogicalTypeId::TimeTZ | LogicalTypeId::Bignum) => Nature::Lossy,
            Ok(LogicalTypeId::Varchar) if logical.get_alias().is_some_and(|alias| alias == "JSON") => Nature::Json,
            _ => Nature::Plain,
        };
        let data_type = statement.column_type(index);
        (Column { name: name.clone(), is_number: data_type.is_numeric() }, nature)
    };
    names.iter().enumerate().map(of_column).unzip()
}

/// The rows of a batch.
pub(super) fn rows(batch: &StructArray, natures: &[Nature]) -> Vec<Row> {
    let of_row = |row| {
        let cells = batch.columns().iter().zip(natures);
        cells.map(|(column, nature)| outer_cell(column, row, *nature)).collect()
    };
    (0..batch.len()).map(of_row).collect()
}

fn outer_cell(column: &ArrayRef, row: usize, nature: Nature) -> Cell {
    match (nature, cell(column.as_ref(), row)) {
        (Nature::Json, Cell::Text(text)) => Cell::Json(text),
        (Nature::Bits, Cell::Blob(bytes)) => Cell::Text(bits(&bytes)),
        (Nature::Unsigned, Cell::Integer(number)) => match u128::from_be_bytes(number.to_be_bytes()) {
            small if small <= i128::MAX.unsigned_abs() => Cell::Integer(number),
            large => Cell::Decimal(large.to_string()),
        },
        (_, cell) => cell,
    }
}

/// The value of that row; a type without a form of its own is named as text.
fn cell(array: &dyn Array, row: usize) -> Cell {
    // A union has no NULL of its own: its member says.
    if array.is_null(row) && !matches!(array.data_type(), DataType::Union(..)) {
        return Cell::Null;
    }
    let integer = |number: i64| Cell::Integer(i128::from(number));
    match array.data_type() {
        DataType::Null => Cell::Null,
        DataType::Boolean => {
            array.as_any().downcast_ref::<BooleanArray>().map_or(Cell::Null, |array| Cell::Bool(array.value(row)))
        }
        DataType::Int8 => integer(value::<Int8Type>(array, row).into()),
        DataType::Int16 => integer(value::<Int16Type>(array, row).into()),
        DataType::Int32 => integer(value::<Int32Type>(array, row).into()),
        DataType::Int64 => integer(value::<Int64Type>(array, row)),
        DataType::UInt8 => integer(value::<UInt8Type>(array, row).into()),
        DataType::UInt16 => integer(value::<UInt16Type>(array, row).into()),
        DataType::UInt32 => integer(value::<UInt32Type>(array, row).into()),
        DataType::UInt64 => Cell::Integer(value::<UInt64Type>(array, row).into()),
        DataType::Float32 => {
            // By its shortest text: 0.1 stays 0.1.
            let number = value::<Float32Type>(array, row);
            Cell::Float(number.to_string().parse().unwrap_or_else(|_| f64::from(number)))
        }
        DataType::Float64 => Cell::Float(value::<Float64Type>(array, row)),
        DataType::Decimal128(_, scale) => decimal(value::<Decimal128Type>(array, row), *scale),
        DataType::Utf8 => Cell::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::LargeUtf8 => Cell::Text(array.as_string::<i64>().value(row).to_owned()),
        DataType::Utf8View => Cell::Text(array.as_string_view().value(row).to_owned()),
        DataType::Binary => Cell::Blob(array.as_binary::<i32>().value(row).to_vec()),
        DataType::LargeBinary => Cell::Blob(array.as_binary::<i64>().value(row).to_vec()),
        DataType::BinaryView => Cell::Blob(array.as_binary_view().value(row).to_vec()),
        DataType::FixedSizeBinary(_) => Cell::Blob(array.as_fixed_size_binary().value(row).to_vec()),
        DataType::Date32 => Cell::Time(times::date(value::<Date32Type>(array, row))),
        DataType::Time64(TimeUnit::Microsecond) => {
            Cell::Time(times::clock(i128::from(value::<Time64MicrosecondType>(array, row)) * 1_000))
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            Cell::Time(times::clock(value::<Time64NanosecondType>(array, row).into()))
        }
        DataType::Timestamp(unit, zone) => {
            let (count, nanoseconds) = match unit {
                TimeUnit::Second => (value::<TimestampSecondType>(array, row), 1_000_000_000),
                TimeUnit::Millisecond => (value::<TimestampMillisecondType>(array, row), 1_000_000),
                TimeUnit::Microsecond => (value::<TimestampMicrosecondType>(array, row), 1_000),
                TimeUnit::Nanosecond => (value::<TimestampNanosecondType>(array, row), 1),
            };
            Cell::Time(times::instant(count, nanoseconds, zone.is_some()))
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let interval = value::<IntervalMonthDayNanoType>(array, row);
            Cell::Time(times::interval(interval.months, interval.days, interval.nanoseconds))
        }
        DataType::List(_) => list(&array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => list(&array.as_list::<i64>().value(row)),
        DataType::FixedSizeList(..) => list(&array.as_fixed_size_list().value(row)),
        DataType::Struct(fields) => {
            let members = fields.iter().zip(array.as_struct().columns());
            Cell::Struct(members.map(|(field, column)| (field.name().clone(), cell(column.as_ref(), row))).collect())
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            Cell::Map((0..entries.len()).map(|at| (cell(keys.as_ref(), at), cell(values.as_ref(), at))).collect())
        }
        DataType::Dictionary(key, _) => match key.as_ref() {
            DataType::UInt8 => entry::<UInt8Type>(array, row),
            DataType::UInt16 => entry::<UInt16Type>(array, row),
            DataType::UInt32 => entry::<UInt32Type>(array, row),
            _ => unknown(array),
        },
        DataType::Union(..) => match array.as_any().downcast_ref::<UnionArray>() {
            Some(union) => first(&union.value(row)),
            None => unknown(array),
        },
        _ => unknown(array),
    }
}

fn value<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
    let found: &PrimitiveArray<T> = array.as_primitive::<T>();
    found.value(row)
}

fn entry<K: ArrowDictionaryKeyType>(array: &dyn Array, row: usize) -> Cell {
    let dictionary: &DictionaryArray<K> = array.as_dictionary::<K>();
    dictionary.key(row).map_or(Cell::Null, |key| cell(dictionary.values().as_ref(), key))
}

fn list(values: &ArrayRef) -> Cell {
    Cell::List((0..values.len()).map(|at| cell(values.as_ref(), at)).collect())
}

fn first(values: &ArrayRef) -> Cell {
    if values.is_empty() { Cell::Null } else { cell(values.as_ref(), 0) }
}

fn bits(bytes: &[u8]) -> String {
    let Some((unused, bytes)) = bytes.split_first() else { return String::new() };
    let all: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
    all.chars().skip(usize::from(*unused)).collect()
}

fn unknown(array: &dyn Array) -> Cell {
    Cell::Text(format!("({})", array.data_type()))
}

/// A number of that many digits behind the point; HUGEINT comes as one with none.
fn decimal(number: i128, scale: i8) -> Cell {
    let Some(scale) = usize::try_from(scale).ok().filter(|scale| *scale > 0) else { return Cell::Integer(number) };
    let digits = format!("{:0>width$}", number.unsigned_abs(), width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    let sign = if number < 0 { "-" } else { "" };
    Cell::Decimal(format!("{sign}{whole}.{part}"))
}
