//! OpenAI's Responses over the whole agent, and embeddings by the built-in model.

use crate::{
    harness::Hob,
    http::Reply,
    model::with_model,
    model_server::{Answer, calls, says},
};
use serde_json::{Value, json};

const RESPONSES: &str = "/v1/responses";
const EMBEDDINGS: &str = "/v1/embeddings";

fn weather() -> Value {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!({"type": "function", "name": "get_weather", "description": "The weather", "parameters": parameters, "strict": false})
}

fn refused(reply: &Reply, status: u16, code: &str, param: &str) -> String {
    let error = reply.json()["error"].clone();
    assert_eq!((reply.status, &error["code"], &error["param"]), (status, &json!(code), &json!(param)), "{error}");
    error["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_response_is_the_whole_agents() {
    let (hob, server) = with_model("");
    server.script(vec![calls(&[("calculate", json!({"expression": "6*7"}))]), says("It is 42."), says("{\"a\": 1}")]);
    let body = json!({"model": "hob", "instructions": "Be brief.", "input": "6*7?", "temperature": 0.1, "top_p": 0.8,
        "max_output_tokens": 99, "metadata": {"k": "v"}});
    let answer = hob.post(RESPONSES, body).json();
    assert_eq!((&answer["object"], &answer["status"]), (&json!("response"), &json!("completed")), "{answer}");
    let item = &answer["output"][0];
    assert_eq!(
        (&item["type"], &item["role"], &item["status"]),
        (&json!("message"), &json!("assistant"), &json!("completed"))
    );
    assert_eq!(
        (&item["content"][0]["type"], &item["content"][0]["text"]),
        (&json!("output_text"), &json!("It is 42."))
    );
    assert_eq!((&answer["model"], &answer["store"]), (&json!("custom/test-model"), &json!(false)));
    assert_eq!((&answer["usage"]["total_tokens"], &answer["metadata"]["k"]), (&json!(36), &json!("v")));
    let sent = &server.asked()[0];
    assert!(sent.messages("system")[0]["content"].as_str().unwrap().contains("Be brief."));
    assert_eq!((&sent.body["temperature"], &sent.body["max_tokens"]), (&json!(0.1), &json!(99)));

    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let format = json!({"format": {"type": "json_schema", "name": "a", "schema": schema, "strict": true}});
    let answer = hob.post(RESPONSES, json!({"model": "hob", "input": "a?", "text": format})).json();
    assert_eq!((&answer["output"][0]["content"][0]["text"], &answer["text"]), (&json!("{\"a\": 1}"), &format));
    assert_eq!(server.asked()[0].body["response_format"]["json_schema"]["schema"], schema);
}

#[test]
fn functions_go_to_the_program_and_come_back_as_items() {
    let (hob, server) = with_model("");
    for streamed in [false, true] {
        server.script(vec![calls(&[("get_weather", json!({"city": "Graz"}))]), says("Sun.")]);
        let mut input =
            vec![json!({"role": "user", "content": [{"type": "input_text", "text": "how is it in Graz?"}]})];
        let body = json!({"model": "hob", "input": input, "tools": [weather()], "stream": streamed});
        let output = if streamed {
            let events: Vec<(String, Value)> = hob.admin("POST", RESPONSES).json(&body).events().collect();
            let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
            let expected = [
                "response.created",
                "response.in_progress",
                "response.output_item.added",
                "response.function_call_arguments.delta",
                "response.function_call_arguments.done",
                "response.output_item.done",
                "response.completed",
            ];
            assert_eq!(names, expected);
            events.last().unwrap().1["response"]["output"].clone()
        } else {
            hob.post(RESPONSES, body).json()["output"].clone()
        };
        let call = &output[0];
        assert_eq!(
            (output.as_array().unwrap().len(), &call["type"], &call["name"]),
            (1, &json!("function_call"), &json!("get_weather"))
        );
        assert_eq!(call["arguments"], "{\"city\":\"Graz\"}");
        input.push(call.clone());
        input.push(json!({"type": "function_call_output", "call_id": call["call_id"], "output": "sun, 21 °C"}));
        let answer = hob.post(RESPONSES, json!({"model": "hob", "input": input, "tools": [weather()]})).json();
        assert_eq!(answer["output"][0]["content"][0]["text"], "Sun.", "{answer}");
        let sent = server.asked().pop().unwrap();
        assert_eq!(sent.messages("tool")[0]["content"], "sun, 21 °C");
    }
}

#[test]
fn a_response_is_streamed_in_openais_events() {
    let (hob, server) = with_model("[model]\nretries = 0");
    server.script(vec![Answer::Says(vec!["It is".into(), " 42.".into()])]);
    let body = json!({"model": "hob", "input": "6*7?", "stream": true});
    let events: Vec<(String, Value)> = hob.admin("POST", RESPONSES).json(&body).events().collect();
    let names: Vec<&str> = events.iter().map(|(name, _)| name.trim_start_matches("response.")).collect();
    let expected = [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ];
    assert_eq!(names, expected);
    for (n, (name, data)) in events.iter().enumerate() {
        assert_eq!((&data["type"], &data["sequence_number"]), (&json!(name), &json!(n)));
    }
    assert_eq!(events[6].1["text"], "It is 42.");
    let end = &events[9].1["response"];
    assert_eq!(
        (&end["output"][0]["content"][0]["text"], &end["usage"]["total_tokens"]),
        (&json!("It is 42."), &json!(18))
    );

    // What breaks in the middle is told in the middle.
    server.script(vec![Answer::Fails("half".into(), "overloaded".into())]);
    let (name, data) = hob.admin("POST", RESPONSES).json(&body).events().last().unwrap();
    assert_eq!((&*name, &data["response"]["status"]), ("response.failed", &json!("failed")));
    assert!(data["response"]["error"]["message"].as_str().unwrap().contains("overloaded"));
    let cut =
        "data: {\"choices\":[{\"delta\":{\"content\":\"Once\"},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
    server.script(vec![Answer::Raw(cut.into())]);
    let (name, data) = hob.admin("POST", RESPONSES).json(&body).events().last().unwrap();
    assert_eq!(
        (&*name, &data["response"]["incomplete_details"]["reason"]),
        ("response.incomplete", &json!("max_output_tokens"))
    );
}

#[test]
fn what_a_response_cannot_have_is_refused() {
    let hob = Hob::start();
    let unsupported = "unsupported_parameter";
    for (more, code, param) in [
        (json!({"previous_response_id": "resp_1"}), unsupported, "previous_response_id"),
        (json!({"store": true}), unsupported, "store"),
        (json!({"background": true}), unsupported, "background"),
        (json!({"reasoning": {"effort": "high"}}), unsupported, "reasoning"),
        (json!({"include": ["message.output_text.logprobs"]}), unsupported, "include"),
        (json!({"conversation": "x"}), "unknown_parameter", "conversation"),
        (json!({"tools": [{"type": "web_search"}]}), "invalid_value", "tools[0]"),
        (json!({"input": [{"type": "item_reference", "id": "x"}]}), "invalid_value", "input[0]"),
        (
            json!({"input": [{"role": "user", "content": ""}, {"type": "function_call_output", "call_id": "x", "output": "1"}]}),
            "invalid_value",
            "input",
        ),
        (json!({"text": {"format": {"type": "json_object"}}}), "unsupported_value", "text.format"),
        (json!({"temperature": 9}), "invalid_value", "temperature"),
    ] {
        let mut body = json!({"model": "hob", "input": "hi"});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        refused(&hob.post(RESPONSES, body), 400, code, param);
    }
    refused(&hob.post(RESPONSES, json!({"model": "gpt-9", "input": "hi"})), 404, "model_not_found", "model");
    let answer = hob.post(RESPONSES, json!({"model": "hob", "input": "turn on pin 5", "store": false})).json();
    assert_eq!(
        (&answer["output"][0]["content"][0]["text"], &answer["model"]),
        (&json!("Pin 5 is on."), &json!("reflex"))
    );
}

#[test]
fn texts_become_vectors() {
    let hob = Hob::start();
    let embed = |more: Value| {
        let mut body = json!({"model": "all-MiniLM-L6-v2"});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        hob.post(EMBEDDINGS, body)
    };
    let texts = ["who looked after the heating?", "Marta serviced the boiler on 3 October", "Paris is in France"];
    let answer = embed(json!({"input": texts})).json();
    assert_eq!((&answer["object"], &answer["model"]), (&json!("list"), &json!("all-MiniLM-L6-v2")), "{answer}");
    let vector = |n: usize| -> Vec<f64> {
        let one = &answer["data"][n];
        assert_eq!((&one["object"], &one["index"]), (&json!("embedding"), &json!(n)));
        one["embedding"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    let near = |a: usize, b: usize| vector(a).iter().zip(vector(b)).map(|(a, b)| a * b).sum::<f64>();
    assert!(vector(0).len() == 384 && near(0, 0) > 0.999 && near(0, 1) > near(0, 2) + 0.1);
    assert_eq!(answer["usage"]["prompt_tokens"], answer["usage"]["total_tokens"]);
    assert!(answer["usage"]["total_tokens"].as_u64().unwrap() > 20);
    let coded = embed(json!({"input": texts[0], "encoding_format": "base64", "dimensions": 384, "user": "eve"})).json();
    assert_eq!(coded["data"][0]["embedding"].as_str().unwrap().len(), 384 * 4 / 3 * 4);

    for (more, code, param) in [
        (json!({"input": "a", "dimensions": 64}), "unsupported_value", "dimensions"),
        (json!({"input": "a", "encoding_format": "int8"}), "invalid_value", "encoding_format"),
        (json!({"input": [1, 2, 3]}), "unsupported_value", "input"),
        (json!({"input": [[1, 2], [3]]}), "unsupported_value", "input"),
        (json!({"input": []}), "invalid_value", "input"),
        (json!({"input": ""}), "invalid_value", "input"),
        (json!({"input": ["a", " "]}), "invalid_value", "input[1]"),
        (json!({"input": {"a": 1}}), "invalid_value", "input"),
        (json!({"input": "rain ".repeat(9000)}), "context_length_exceeded", "input"),
        (json!({"input": "a", "truncate": true}), "unknown_parameter", "truncate"),
    ] {
        refused(&embed(more), 400, code, param);
    }
    refused(&embed(json!({"input": "a", "model": "text-embedding-3-small"})), 404, "model_not_found", "model");
    let chat = json!({"model": "all-MiniLM-L6-v2", "messages": [{"role": "user", "content": "hi"}]});
    refused(&hob.post("/v1/chat/completions", chat), 404, "model_not_found", "model");
}
