//! Results of each function of `utils`, and of the standard web objects.

use serde_json::{Value, json};

use crate::tests::run;

/// Each expression, awaited, against its value.
async fn table(cases: &[(&str, Value)]) {
    for (expression, value) in cases {
        let result = run(&format!("return await ({expression})")).await.result;
        assert_eq!(result.as_ref(), Ok(value), "{expression}");
    }
}

/// Each expression throws a text that holds this, and names the line.
async fn errors(cases: &[(&str, &str)]) {
    for (expression, part) in cases {
        let result = run(&format!("return await ({expression})")).await.result;
        let text = result.expect_err(expression).to_string();
        assert!(text.contains(part), "{expression}: {text}");
        assert!(text.contains("(line 1, "), "{expression}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn config_and_tools() {
    table(&[
        ("utils.getApiKey('weather')", json!("k-1")),
        ("utils.getApiKey('none') === undefined", json!(true)),
        ("utils.getServiceConfig('none')", json!(null)),
        ("utils.getConfigEntry('none')", json!(null)),
        ("utils.getConfigEntries('none')", json!([])),
        ("utils.getConfigEntries('weather').length", json!(2)),
        (
            "utils.getFieldValue('weather', 'base_url', 'b')",
            json!({"service": "weather", "field": "base_url", "entry": "b"}),
        ),
        ("utils.callTool('echo', {a: 1})", json!({"name": "echo", "args": {"a": 1}})),
        ("utils.callTool('echo')", json!({"name": "echo", "args": {}})),
        ("utils.listTools()[0].name", json!("echo")),
        ("utils.sleep(5)", json!(null)),
    ])
    .await;
    errors(&[
        ("utils.getApiKey('secret')", "Error: this tool may not read secret"),
        ("utils.getApiKey()", "utils.getApiKey wants a string, not undefined"),
        ("utils.callTool({})", "utils.callTool wants a string, not object"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hashing_and_encodings() {
    table(&[
        ("utils.hash('abc')", json!("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")),
        ("utils.hash('abc', 'SHA-1')", json!("a9993e364706816aba3e25717850c26c9cd0d89d")),
        ("utils.hash('abc', 'md5')", json!("900150983cd24fb0d6963f7d28e17f72")),
        ("utils.hash('ü', 'sha512').slice(0, 8)", json!("230a0689")),
        ("utils.isUuid(utils.uuid()) && utils.uuid()[14] === '4' && utils.uuid() !== utils.uuid()", json!(true)),
        ("utils.generatePassword().length", json!(16)),
        ("/^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)(?=.*[^\\w]).{40}$/.test(utils.generatePassword(40))", json!(true)),
        ("utils.base64Encode('grüße 😀')", json!("Z3LDvMOfZSDwn5iA")),
        ("utils.base64Decode('Z3LDvMOfZSDwn5iA')", json!("grüße 😀")),
        ("utils.base64Decode('Pz8_')", json!("???")),
        ("utils.urlEncode('a b&ü')", json!("a%20b%26%C3%BC")),
        ("utils.urlDecode('a%20b%26%C3%BC+c')", json!("a b&ü c")),
        ("utils.hexEncode('ü1')", json!("c3bc31")),
        ("utils.hexDecode('C3 bc31')", json!("ü1")),
        ("[btoa('abc'), atob('YWJj')]", json!(["YWJj", "abc"])),
        ("[...new TextEncoder().encode('ü')]", json!([195, 188])),
        ("new TextDecoder().decode(new TextEncoder().encode('grüße'))", json!("grüße")),
    ])
    .await;
    errors(&[
        ("utils.hash('a', 'rot13')", "not \"rot13\""),
        ("utils.base64Decode('***')", "this is not Base64"),
        ("utils.hexDecode('xyz')", "this is not hexadecimal"),
        ("utils.urlDecode('%E0%A4%A')", "broken %-sequence"),
        ("utils.generatePassword(2)", "at least 4"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn dates_and_text() {
    table(&[
        (
            "/^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z$/.test(utils.now()) && Math.abs(utils.timestamp() - Date.now()) < 1000",
            json!(true),
        ),
        ("utils.dateDiff('2026-01-30', '2026-02-06')", json!(7)),
        ("utils.dateDiff('2026-01-30T12:00:00Z', '2026-01-30', 'hours')", json!(-12)),
        ("utils.dateDiff('2026-01-01', '2026-01-15', 'week')", json!(2)),
        ("utils.dateAdd('2026-01-31', 1, 'months')", json!("2026-02-28T00:00:00.000Z")),
        ("utils.dateAdd('2024-02-29', 1, 'year')", json!("2025-02-28T00:00:00.000Z")),
        ("utils.dateAdd('2026-03-31', -1, 'months')", json!("2026-02-28T00:00:00.000Z")),
        ("utils.dateAdd('2026-01-30T10:00:00+02:00', 90, 'minutes')", json!("2026-01-30T09:30:00.000Z")),
        ("Math.round(utils.dateDiff(utils.now(), utils.dateAdd('now', 3)))", json!(3)),
        ("utils.formatDate('2026-01-30')", json!("Friday, January 30, 2026")),
        ("utils.formatDate('2026-01-30T14:05:00Z')", json!("Friday, January 30, 2026, 2:05 PM UTC")),
        ("utils.formatDate('2026-01-30T14:05:00Z', 'en-GB')", json!("Friday 30 January 2026, 14:05 UTC")),
        ("utils.formatDate('2026-03-30', 'de-DE')", json!("Montag, 30. März 2026")),
        ("utils.slugify('  Crème Brûlée & Straße! ')", json!("creme-brulee-strasse")),
        ("utils.camelCase('hello big-World_wide')", json!("helloBigWorldWide")),
        ("utils.snakeCase('parseHTTPResponse v2')", json!("parse_http_response_v2")),
        ("utils.kebabCase('myVariable name')", json!("my-variable-name")),
        ("utils.titleCase(\"it's a wonderful LIFE\")", json!("It's A Wonderful Life")),
        ("utils.truncate('a'.repeat(120)).length", json!(100)),
        ("utils.truncate('😀😀😀😀😀😀', 5, '…')", json!("😀😀😀😀…")),
        (
            "[utils.truncate('short', 10), utils.truncate('long', 2), utils.truncate('abc', 0)]",
            json!(["short", "..", ""]),
        ),
        ("utils.countWords('  one two\\nthree ')", json!(3)),
        ("utils.removeDiacritics('Ångström café ñ')", json!("Angstrom cafe n")),
    ])
    .await;
    errors(&[
        ("utils.dateAdd('soon', 1)", "\"soon\" is not a date"),
        ("utils.dateAdd('now', 1, 'fortnights')", "not \"fortnights\""),
        ("utils.dateDiff('2026-01-01', '2026-01-02', 'years')", "counts in"),
        ("utils.slugify(null)", "wants a string, not null"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn validation_and_math() {
    table(&[
        ("['a@b.co', 'a.b+c@x-y.example.org'].every(utils.isEmail)", json!(true)),
        ("['a@b', '@b.co', 'a b@c.de', 'a@b..co', '.a@b.co', 7, null].some(utils.isEmail)", json!(false)),
        ("['https://x.de/a?b#c', 'http://localhost:80'].every(utils.isUrl)", json!(true)),
        ("['x.de', 'javascript:1', 'https://', 'http://a b', null].some(utils.isUrl)", json!(false)),
        ("[utils.isJson('{\"a\":1}'), utils.isJson('{a:1}'), utils.isJson({})]", json!([true, false, false])),
        ("[utils.isUuid('123e4567-e89b-12d3-a456-426614174000'), utils.isUuid('123')]", json!([true, false])),
        ("[utils.clamp(5, 1, 3), utils.clamp(0, 1, 3), utils.clamp(2, 1, 3)]", json!([3, 1, 2])),
        ("[utils.round(1.005, 2), utils.round(2.5), utils.round(-2.5), utils.round(1234, -2), utils.round(1e21, 2), utils.round(0.1 + 0.2, 1)]",
            json!([1.01, 3, -3, 1200, 1e21, 0.3])),
        ("Array.from({length: 200}, () => utils.randomInt(1, 3)).every(n => n === 1 || n === 2 || n === 3)", json!(true)),
        ("new Set(Array.from({length: 200}, () => utils.randomInt(1, 3))).size", json!(3)),
        ("[utils.sum([1, 2, 3.5]), utils.sum([]), utils.avg([1, 2]), utils.avg([])]", json!([6.5, 0, 1.5, 0])),
    ])
    .await;
    errors(&[
        ("utils.sum([1, 'x'])", "utils.sum wants a number, not \"x\""),
        ("utils.avg('12')", "utils.avg wants an array, not string"),
        ("utils.clamp(1, 3, 2)", "min (3) not above max (2)"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn data_and_arrays() {
    table(&[
        ("utils.parseJson('[1]')", json!([1])),
        ("[utils.toJson({a: 1}), utils.toJson({a: 1}, 0), utils.toJson(undefined)]", json!(["{\n  \"a\": 1\n}", "{\"a\":1}", "null"])),
        ("utils.parseCsv('name, age\\r\\n\"Doe, \"\"J\"\"\\nx\",7\\n\\nAnn\\n')", json!([{"name": "Doe, \"J\"\nx", "age": "7"}, {"name": "Ann", "age": ""}])),
        ("utils.parseCsv('\\uFEFFa;b\\n1;', ';')", json!([{"a": "1", "b": ""}])),
        ("utils.parseCsv('')", json!([])),
        ("Object.keys(utils.parseCsv('__proto__\\nx')[0])", json!(["__proto__"])),
        ("utils.flatten({a: {b: {c: 1}, d: [1, {e: 2}]}, f: null, g: {}})", json!({"a.b.c": 1, "a.d": [1, {"e": 2}], "f": null, "g": {}})),
        ("utils.flatten({a: 1}, 'x')", json!({"x.a": 1})),
        ("utils.getPath({a: [{b: 'x'}]}, 'a[0].b')", json!("x")),
        ("utils.getPath({'k l': 1}, '[\"k l\"]')", json!(1)),
        ("[utils.getPath({}, 'a.b.c'), utils.getPath(null, 'a'), utils.getPath({}, 'constructor.name')]", json!([null, null, null])),
        ("utils.unique([1, 2, 1, 'a', 'a'])", json!([1, 2, "a"])),
        ("utils.chunk([1, 2, 3], 2)", json!([[1, 2], [3]])),
        ("[utils.shuffle([1, 2, 3]).sort(), utils.sample([1, 2, 3], 2).length, utils.sample([5]), utils.sample([1], 9)]", json!([[1, 2, 3], 2, [5], [1]])),
        ("utils.groupBy([{k: 'a', v: 1}, {k: 'b', v: 2}, {k: 'a', v: 3}], 'k')", json!({"a": [{"k": "a", "v": 1}, {"k": "a", "v": 3}], "b": [{"k": "b", "v": 2}]})),
        ("utils.groupBy([1, 2, 3], n => n % 2 ? 'odd' : 'even')", json!({"odd": [1, 3], "even": [2]})),
    ])
    .await;
    errors(&[
        ("utils.parseJson('{a}')", "SyntaxError: utils.parseJson"),
        ("utils.parseCsv('a\\n\"x')", "a quote in record 2 is never closed"),
        ("utils.chunk([1], 0)", "at least 1, not 0"),
        ("utils.flatten([1])", "wants an object, not an array"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_web_and_copies() {
    table(&[
        ("new URL('../c?x=1#h', 'https://u:p@ex.de:8443/a/b/').href", json!("https://u:p@ex.de:8443/a/c?x=1#h")),
        ("(u => [u.origin, u.host, u.port, u.pathname, u.search, u.hash, String(u)])(new URL('http://ex.de:81/a b?q=ü#z'))",
            json!(["http://ex.de:81", "ex.de:81", "81", "/a%20b", "?q=%C3%BC", "#z", "http://ex.de:81/a%20b?q=%C3%BC#z"])),
        ("(u => { u.searchParams.append('q', 'a b'); u.searchParams.set('p', '2'); u.pathname = '/n'; return u })(new URL('https://x.de/?p=1'))",
            json!("https://x.de/n?p=2&q=a+b")),
        ("[URL.canParse('nonsense'), URL.canParse('https://x.de')]", json!([false, true])),
        ("new URLSearchParams('?a=1&a=2&b=%C3%BC+x').getAll('a').concat(new URLSearchParams('b=%C3%BC+x').get('b'))", json!(["1", "2", "ü x"])),
        ("String(new URLSearchParams({a: '~!*', b: 'ü'}))", json!("a=%7E%21*&b=%C3%BC")),
        ("Object.fromEntries(new Headers([['A', 'x'], ['a', 'y']]))", json!({"a": "x, y"})),
        ("(o => { o.self = o; const c = structuredClone(o); return [c.self === c, c !== o, c.d.getTime(), [...c.m], [...c.b]] })({d: new Date(5), m: new Map([[1, {}]]), b: new Uint8Array(2)})",
            json!([true, true, 5, [[1, {}]], [0, 0]])),
        ("new Date('2026-01-30T10:00').getTimezoneOffset()", json!(0)),
        ("typeof queueMicrotask + typeof BigInt + typeof WeakMap + typeof Promise.withResolvers", json!("functionfunctionfunctionfunction")),
    ])
    .await;
    errors(&[
        ("new URL('nonsense')", "TypeError: Invalid URL: nonsense"),
        ("structuredClone(() => {})", "cannot be cloned"),
    ])
    .await;
}
