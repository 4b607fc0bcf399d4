//! Convert lists of objects or lists to columns and rows, for CSV and tables.

use crate::bounds::{few, within};
use std::collections::HashSet;
use tool::prelude::*;

/// The maximum number of columns and of cells: objects without common keys would fill a square.
pub(crate) const COLUMNS: usize = 1000;
const CELLS: usize = 1_000_000;

/// Columns and rows; each row has one cell per column.
#[derive(Debug)]
pub(crate) struct Grid {
    /// The column names; empty when the data has none and none were given.
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// For each column, whether all its cells are numbers.
    pub numeric: Vec<bool>,
}

impl Grid {
    /// Convert data to a grid. `columns` selects and orders columns of objects, and names those of lists.
    ///
    /// # Errors
    /// `BadArgs` when items differ in kind, or there are too many.
    pub(crate) fn new(data: Vec<Value>, columns: Option<Vec<String>>) -> Result<Self> {
        few("data", data.len())?;
        within("columns", columns.as_ref().map_or(0, Vec::len), COLUMNS, "names")?;
        let odd = |is: fn(&Value) -> bool| data.iter().position(|item| !is(item));
        let wrong = |at: usize| {
            Error::bad_args(format!(
                "item {} of `data` is not like the first: give objects, lists or values, not mixed",
                at + 1
            ))
        };
        match data.first() {
            Some(Value::Object(_)) => match odd(Value::is_object) {
                Some(at) => Err(wrong(at)),
                None => Self::of_objects(data, columns),
            },
            Some(Value::Array(_)) => match odd(Value::is_array) {
                Some(at) => Err(wrong(at)),
                None => Self::of_lists(data, columns),
            },
            _ => match odd(|item| !item.is_array() && !item.is_object()) {
                Some(at) => Err(wrong(at)),
                None => {
                    let columns = columns.unwrap_or_else(|| vec!["value".to_owned()]);
                    Self::of_lists(data.into_iter().map(|item| Value::Array(vec![item])).collect(), Some(columns))
                }
            },
        }
    }

    fn of_objects(data: Vec<Value>, columns: Option<Vec<String>>) -> Result<Self> {
        let columns = match columns {
            Some(columns) => columns,
            None => {
                let (mut columns, mut seen) = (Vec::new(), HashSet::new());
                for key in data.iter().filter_map(Value::as_object).flat_map(|fields| fields.keys()) {
                    if seen.insert(key.as_str()) {
                        columns.push(key.clone());
                        within("data", columns.len(), COLUMNS, "different keys")?;
                    }
                }
                columns
            }
        };
        within("data", columns.len().saturating_mul(data.len()), CELLS, "cells")?;
        let rows = data.into_iter().map(|mut item| columns.iter().map(|column| item[column.as_str()].take()).collect());
        Ok(Self::filled(columns.clone(), rows.collect()))
    }

    fn of_lists(data: Vec<Value>, columns: Option<Vec<String>>) -> Result<Self> {
        let mut rows: Vec<Vec<Value>> =
            data.into_iter().map(|item| if let Value::Array(cells) = item { cells } else { vec![item] }).collect();
        let columns = columns.unwrap_or_default();
        let width = rows.iter().map(Vec::len).max().unwrap_or_default();
        within("data", width, COLUMNS, "columns")?;
        if !columns.is_empty() && width > columns.len() {
            return Err(Error::bad_args(format!(
                "a row has {width} cells, and `columns` has {} names: name every column",
                columns.len()
            )));
        }
        let width = width.max(columns.len());
        within("data", width.saturating_mul(rows.len()), CELLS, "cells")?;
        rows.iter_mut().for_each(|row| row.resize(width, Value::Null));
        Ok(Self::filled(columns, rows))
    }

    fn filled(columns: Vec<String>, rows: Vec<Vec<Value>>) -> Self {
        let width = rows.first().map_or(columns.len(), Vec::len);
        let numeric = |at: usize| {
            let mut cells = rows.iter().filter_map(|row| row.get(at)).filter(|cell| !cell.is_null()).peekable();
            cells.peek().is_some() && cells.all(Value::is_number)
        };
        let numeric = (0..width).map(numeric).collect();
        let rows = rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect();
        Self { columns, rows, numeric }
    }
}

/// The text of a cell: empty for null, JSON for lists and objects.
fn cell(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(data: Value, columns: Option<&[&str]>) -> Result<Grid> {
        let columns = columns.map(|names| names.iter().map(ToString::to_string).collect());
        Grid::new(data.as_array().unwrap().clone(), columns)
    }

    #[test]
    fn objects_lists_and_values_fill_it() {
        let objects = json!([{"b": 1, "a": "x"}, {"c": [2], "b": 2.5}]);
        let all = grid(objects.clone(), None).unwrap();
        assert_eq!(all.columns, ["a", "b", "c"]);
        assert_eq!(all.rows, [["x", "1", ""], ["", "2.5", "[2]"]]);
        assert_eq!(all.numeric, [false, true, false]);
        let some = grid(objects, Some(&["b", "nope"])).unwrap();
        assert_eq!(some.rows, [["1", ""], ["2.5", ""]]);
        let lists = grid(json!([[1, true], [null]]), None).unwrap();
        assert_eq!((lists.columns.len(), &lists.rows[1]), (0, &vec![String::new(), String::new()]));
        assert_eq!(grid(json!([1, "a"]), None).unwrap().columns, ["value"]);
        assert!(grid(json!([]), None).unwrap().rows.is_empty());
    }

    #[test]
    fn what_is_mixed_or_too_much_is_refused() {
        for data in [json!([{}, []]), json!([[], 1]), json!([1, {}])] {
            assert!(grid(data, None).unwrap_err().message().contains("item 2 of `data`"));
        }
        assert!(grid(json!([[1, 2]]), Some(&["a"])).unwrap_err().message().contains("name every column"));
        let square: Vec<Value> = (0..1001).map(|n| json!({n.to_string(): n})).collect();
        assert!(grid(Value::Array(square), None).unwrap_err().message().contains("different keys"));
        let tall: Vec<Value> = (0..2000).map(|n| json!({(n % 900).to_string(): n})).collect();
        assert!(grid(Value::Array(tall), None).unwrap_err().message().contains("cells"));
    }
}
