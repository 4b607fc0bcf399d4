//! Format rows as a Markdown table.

use crate::{
    bounds::{run_blocking, within},
    grid::Grid,
    words::words,
};
use text_kit::counted;
use tool::prelude::*;

/// The maximum number of rows.
const ROWS: usize = 1000;

words! {
    /// The alignment of a column.
    Align { Left = "left", Center = "center", Right = "right" }
}

/// Format rows (objects or lists) as a Markdown table.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateTable {
    /// Rows: objects, or lists whose first names the columns unless `columns` does.
    data: Vec<Value>,
    /// Columns and their order (default: all, by name). For lists: their names.
    columns: Option<Vec<String>>,
    /// Alignment of each column (default: numbers right, everything else left).
    align: Option<Vec<Align>>,
}

pub(crate) async fn create_table(_: (), _: Cx, args: CreateTable) -> Result<Output> {
    within("data", args.data.len(), ROWS, "rows")?;
    run_blocking(move |_| {
        let (mut data, mut columns) = (args.data, args.columns);
        if columns.is_none() && data.first().is_some_and(Value::is_array) {
            let names = data.remove(0);
            let names = names.as_array().into_iter().flatten();
            columns = Some(names.map(|name| name.as_str().map_or_else(|| name.to_string(), str::to_owned)).collect());
        }
        let grid = Grid::new(data, columns)?;
        if grid.columns.is_empty() {
            return Err(Error::bad_args("a table needs a column: give `columns`, or rows that are not empty"));
        }
        let align = |at: usize| match args.align.as_ref().and_then(|align| align.get(at)) {
            Some(align) => *align,
            None if grid.numeric.get(at) == Some(&true) => Align::Right,
            None => Align::Left,
        };
        let aligns: Vec<Align> = (0..grid.columns.len()).map(align).collect();
        let sentence =
            format!("Here is a table of {} and {}.", counted(grid.rows.len(), "row"), counted(aligns.len(), "column"));
        let answer = json!({"table": laid_out(&grid, &aligns), "rowCount": grid.rows.len(), "columns": grid.columns});
        Ok(Output::json(answer)?.say(sentence))
    })
    .await
}

fn laid_out(grid: &Grid, aligns: &[Align]) -> String {
    // Columns are padded to their longest cell, up to this width.
    const WIDE: usize = 40;
    let length = |text: &str| text.chars().count();
    let escaped = |cell: &String| {
        cell.trim().replace('\\', "\\\\").replace('|', "\\|").replace("\r\n", "\n").replace(['\n', '\r'], "<br>")
    };
    let head: Vec<String> = grid.columns.iter().map(escaped).collect();
    let rows: Vec<Vec<String>> = grid.rows.iter().map(|row| row.iter().map(escaped).collect()).collect();
    let wide = |at: usize| {
        let cells = rows.iter().chain([&head]).filter_map(|row| row.get(at));
        cells.map(|cell| length(cell)).max().unwrap_or_default().clamp(3, WIDE)
    };
    let widths: Vec<usize> = (0..head.len()).map(wide).collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).zip(aligns).map(|((cell, width), align)| {
            let room = width.saturating_sub(length(cell));
            let before = match align {
                Align::Left => 0,
                Align::Center => room / 2,
                Align::Right => room,
            };
            format!("{}{cell}{}", " ".repeat(before), " ".repeat(room - before))
        });
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let rule = widths.iter().zip(aligns).map(|(width, align)| match align {
        Align::Left => "-".repeat(*width),
        Align::Center => format!(":{}:", "-".repeat(width - 2)),
        Align::Right => format!("{}:", "-".repeat(width - 1)),
    });
    let rule = format!("| {} |", rule.collect::<Vec<_>>().join(" | "));
    let lines = [line(&head), rule].into_iter().chain(rows.iter().map(|row| line(row)));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cx};

    async fn ask(args: Value) -> Result<Output> {
        call(crate::data(), &cx(), "create_table", args).await
    }

    #[tokio::test]
    async fn rows_become_a_table() {
        let data = json!([{"name": "Müller | Co", "sum": 12.5}, {"name": "a\nb", "sum": 100}, {"name": "x"}]);
        let answer = ask(json!({"data": data})).await.unwrap();
        assert_eq!(
            answer.content["table"],
            "| name         |  sum |\n\
             | ------------ | ---: |\n\
             | Müller \\| Co | 12.5 |\n\
             | a<br>b       |  100 |\n\
             | x            |      |"
        );
        assert_eq!((&answer.content["rowCount"], &answer.content["columns"]), (&json!(3), &json!(["name", "sum"])));
        assert_eq!(answer.say.unwrap(), "Here is a table of 3 rows and 2 columns.");
        let lists = ask(json!({"data": [["a", 2], [1, 2]], "align": ["center"]})).await.unwrap().content;
        assert_eq!(lists["table"], "|  a  |   2 |\n| :-: | --: |\n|  1  |   2 |");
        let named = ask(json!({"data": [[1]], "columns": ["n"]})).await.unwrap().content;
        assert_eq!(named["table"], "|   n |\n| --: |\n|   1 |");
    }

    #[tokio::test]
    async fn what_makes_no_table_is_refused() {
        for bad in [
            json!({"data": [[]]}),
            json!({"data": [{}]}),
            json!({"data": [1, [2]]}),
            json!({"data": vec![1; ROWS + 1]}),
            json!({"data": [[1, 2]], "columns": ["a"]}),
        ] {
            assert!(matches!(ask(bad.clone()).await, Err(Error::BadArgs(_))), "{bad}");
        }
        assert_eq!(ask(json!({"data": []})).await.unwrap().content["table"], "| value |\n| ----- |");
    }
}
