//! Utility tools: time, arithmetic, units, text, data and device information.

mod adapt;
mod arithmetic;
mod bounds;
mod chance;
mod codec;
mod compare;
mod count;
mod csv;
mod dates;
mod device;
mod digest;
#[cfg(test)]
mod dispatched;
mod extract;
mod grid;
mod json;
mod lists;
mod maths;
mod order;
mod patterns;
mod people;
mod statistics;
mod table;
#[cfg(test)]
mod testing;
mod time;
mod transform;
mod validate;
mod words;

use board::Device;
use tool::{Area, Family, Risk, ToolGroup, prelude::json};

/// The category of all families.
const CATEGORY: &str = "Utilities";

/// Time, arithmetic, units and device information.
pub fn utilities(device: Device) -> Family<Device> {
    Family::new("utilities", "The state of the device.", device)
        .title("This device")
        .shared_group(ToolGroup::new("core", "The time, arithmetic, ids.").name("Time and arithmetic"))
        .shared_group(ToolGroup::new("conversion", "Units and formats.").name("Units and formats"))
        .shared_group(
            ToolGroup::new("extraction", "Extract addresses and numbers from text.").name("Finding addresses"),
        )
        .shared_group(ToolGroup::new("validation", "Check the format of values.").name("Checking addresses"))
        .phrases(concat!(include_str!("time.en"), "\n", include_str!("maths.en"), "\n", include_str!("device.en")))
        .tool("get_current_datetime", Risk::Observe, time::now)
        .in_group("core")
        .also_in(&["automation"])
        .everyday_without("time")
        .alias("datetime")
        .alias("get_current_time")
        .tags("clock date day weekday today timezone hour week")
        .tool("calculate", Risk::Observe, maths::calculate)
        .in_group("core")
        .everyday()
        .tags("maths arithmetic compute sum evaluate percent root")
        .tool("convert_units", Risk::Observe, maths::convert)
        .in_group("conversion")
        .tags("unit conversion length weight temperature volume")
        .example(json!({"value": 20, "from": "°C", "to": "°F"}))
        .tool("list_people", Risk::Observe, people::list)
        .own_area(Area::System)
        .tags("who lives here household people members names family residents")
        .tool("system_info", Risk::Observe, device::info)
        .own_area(Area::System)
        .tags("device status health disk memory cpu temperature uptime hostname")
}

/// Date arithmetic.
pub fn dates() -> Family<()> {
    Family::new("dateTime", "Calculate with dates.", ())
        .title("Dates")
        .category(CATEGORY)
        .phrases(include_str!("dates.en"))
        .tool("date_diff", Risk::Observe, dates::diff)
        .tags("difference between dates days until since how long ago countdown age weeks months")
        .example(json!({"date1": "today", "date2": "2026-12-25"}))
        .tool("date_add", Risk::Observe, dates::add)
        .alias("add_to_date")
        .tags("add subtract days weeks months from now later ago deadline future past")
        .example(json!({"date": "today", "amount": 30, "unit": "days"}))
        .tool("format_date", Risk::Observe, dates::format)
        .tags("date time format strftime relative timestamp weekday unix iso timezone")
        .example(json!({"date": "2026-11-20T14:30", "format": "long"}))
}

/// Statistics and percentages.
pub fn mathematics() -> Family<()> {
    Family::new("mathStats", "Percentages, statistics and counts.", ())
        .title("Statistics")
        .category(CATEGORY)
        .tool("statistics", Risk::Observe, statistics::statistics)
        .alias_with("calculate_statistics", adapt::calculate_statistics)
        .tags("mean average median mode deviation variance percentile sum minimum maximum numbers")
        .example(json!({"numbers": [4, 8, 15, 16, 23, 42]}))
        .tool("calculate_percentage", Risk::Observe, statistics::percentage)
        .tags("percent discount tip tax increase decrease change ratio share")
        .example(json!({"value": 200, "percent": 15}))
}

/// Random values.
pub fn chance() -> Family<()> {
    Family::new("generation", "Random numbers, passwords and ids.", ())
        .title("Passwords and random numbers")
        .category(CATEGORY)
        .phrases(include_str!("chance.en"))
        .tool("generate_uuid", Risk::Observe, chance::uuid)
        .in_group("core")
        .also_in(&["generation"])
        .returns_digests()
        .tags("unique identifier guid random id")
        .example(json!({}))
        .tool("generate_password", Risk::Observe, chance::password)
        .returns_secret()
        .tags("password passphrase secret random secure credentials pin")
        .example(json!({"length": 20}))
        .tool("random_number", Risk::Observe, chance::pick)
        .tags("dice roll coin flip lot draw chance pick number")
        .example(json!({"min": 1, "max": 6}))
}

/// Transform, count, compare, search, encode and validate text.
pub fn text() -> Family<()> {
    Family::new("textUtils", "Change, count, compare and search text.", ())
        .title("Text")
        .category(CATEGORY)
        .phrases(include_str!("text.en"))
        .tool("count_text", Risk::Observe, count::count)
        .also_in(&["mathStats"])
        .alias("count_words")
        .tags("words characters letters sentences lines paragraphs length reading time language detect")
        .example(json!({"text": "One sentence. And another."}))
        .tool("transform_text", Risk::Observe, transform::transform)
        .tags("uppercase lowercase title case camel snake kebab slug trim reverse sort lines accents truncate")
        .example(json!({"text": "Crème brûlée", "operation": "slug"}))
        .tool("compare_text", Risk::Observe, compare::compare)
        .tags("diff difference similarity compare changes versions")
        .example(json!({"text1": "milk\neggs", "text2": "milk\nbutter"}))
        .tool("extract_from_text", Risk::Observe, extract::extract)
        .also_in(&["extraction"])
        .alias_with("extract_urls", adapt::extract_urls)
        .alias_with("extract_emails", adapt::extract_emails)
        .alias_with("extract_numbers", adapt::extract_numbers)
        .tags("find urls links emails phones numbers dates hashtags mentions ips addresses pattern")
        .example(json!({"text": "Write to anna@example.org", "pattern": "emails"}))
        .tool("regex", Risk::Observe, patterns::use_regex)
        .also_in(&["validation"])
        .alias_with("test_regex", adapt::test_regex)
        .tags("regular expression pattern match replace test split find substitute")
        .example(json!({"pattern": "(\\w+)@(\\w+)", "text": "anna@example", "replacement": "$2 of $1"}))
        .tool("hash_text", Risk::Observe, digest::hash)
        .returns_digests()
        .tags("hash digest checksum md5 sha1 sha256 sha512 blake3 fingerprint")
        .example(json!({"text": "abc", "algorithm": "sha256"}))
        .tool("encode_decode", Risk::Observe, codec::encode_decode)
        .also_in(&["conversion"])
        .tags("base64 url percent hex html entities encode decode escape unescape")
        .example(json!({"text": "a b&c", "operation": "encode", "method": "url"}))
        .tool("format_json", Risk::Observe, json::format_json)
        .also_in(&["conversion"])
        .tags("json pretty print minify validate indent sort keys beautify")
        .example(json!({"json": "{\"b\":1,\"a\":[1,2]}"}))
        .tool("validate", Risk::Observe, validate::validate)
        .also_in(&["validation"])
        .alias_with("validate_email", adapt::validate_email)
        .alias_with("validate_url", adapt::validate_url)
        .tags("check valid well-formed email url phone uuid ip date json card iban color hostname mac")
        .example(json!({"value": "anna@example.org", "type": "email"}))
}

/// Lists, CSV and tables.
pub fn data() -> Family<()> {
    Family::new("listOps", "Sort, filter and format lists.", ())
        .title("Sorting and filtering")
        .category(CATEGORY)
        .tool("parse_csv", Risk::Observe, csv::parse)
        .in_group("conversion")
        .tags("csv tsv spreadsheet read rows columns table import")
        .example(json!({"csv": "name,age\nAnna,41"}))
        .tool("generate_csv", Risk::Observe, csv::generate)
        .in_group("conversion")
        .tags("csv spreadsheet write export rows columns")
        .example(json!({"data": [{"name": "Anna", "age": 41}], "columns": ["name", "age"]}))
        .tool("array_operations", Risk::Observe, lists::array_operation)
        .alias_with("sort_list", adapt::sort_list)
        .alias_with("deduplicate", adapt::deduplicate)
        .tags(
            "list array sort filter unique duplicates chunk flatten group sum average shuffle sample slice join union",
        )
        .example(json!({"array": [3, 1, 2], "operation": "sort", "order": "desc"}))
        .tool("create_table", Risk::Observe, table::create_table)
        .tags("markdown table rows columns lay out format")
        .example(json!({"data": [{"name": "Anna", "age": 41}]}))
}
