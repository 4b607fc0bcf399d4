//! Files that tools make: PDF whose text other programs read, and pictures of another size.

use crate::{
    document_files::png,
    document_tools::{folder, ready},
    harness::Hob,
};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

/// What another program reads in a PDF file.
fn text_of(file: &Path) -> String {
    let done = Command::new("pdftotext").args(["-layout", "-enc", "UTF-8"]).arg(file).arg("-").output().unwrap();
    assert!(done.status.success() && done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

fn mark(hob: &Hob, path: &str) -> Value {
    hob.result("list_directory", json!({}))["entries"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["path"] == path)
        .unwrap_or_else(|| panic!("no {path}"))["outside"]
        .clone()
}

#[test]
fn a_pdf_holds_the_text_of_many_languages() {
    let hob = Hob::start();
    ready(&hob);
    let disk = folder(&hob);
    let text = "Größe, ¿qué señor?, ça où œuvre, zażółć gęślą jaźń, Καλημέρα κόσμε, Съешь ещё этих булок, 12 € – „so“";
    let content = format!(
        "# Report\n\n{text}\n\n## List\n\n- first **bold** item\n- second [with link](https://example.org/)\n\n1. one\n2. two\n\n\
         | Day | Sum |\n|---|---:|\n| Monday | 12.50 |\n| Tuesday | 7 |\n\n```\nlet answer = 42;\n```\n\n> quoted words\n\nThe end."
    );
    let made = hob.result("create_pdf", json!({"content": content, "outputPath": "report.pdf", "title": "Report"}));
    assert_eq!((&made["path"], &made["pageCount"], &made["created"]), (&json!("report.pdf"), &json!(1), &json!(true)));
    let read = text_of(&disk.join("report.pdf"));
    let read = words(&read).join(" ");
    assert!(read.contains(&words(text).join(" ")), "{read}");
    for expected in [
        "Report",
        "• first bold item",
        "second with link",
        "1. one",
        "Monday",
        "12.50",
        "let answer = 42;",
        "quoted words",
        "The end.",
    ] {
        assert!(read.contains(expected), "{expected}: {read}");
    }
    // Our own reader finds its structure again.
    let own = hob.result("read_document", json!({"path": "report.pdf"}))["content"].as_str().unwrap().to_owned();
    for expected in [
        "# Report\n",
        "## List\n",
        "- first bold item\n",
        "1. one\n",
        "| Day | Sum |\n| --- | --- |\n| Monday | 12.50 |\n",
    ] {
        assert!(own.contains(expected), "{expected}: {own}");
    }
    assert_eq!(hob.result("pdf_info", json!({"path": "report.pdf"}))["title"], "Report");
    let letter = json!({"content": "word ".repeat(4000), "outputPath": "long", "pageSize": "Letter", "landscape": true, "fontSize": 14, "margin": 30});
    let long = hob.result("create_pdf", letter);
    assert!(long["pageCount"].as_u64().unwrap() > 3 && long["path"] == "long.pdf", "{long}");
    assert_eq!(words(&text_of(&disk.join("long.pdf"))).iter().filter(|word| **word == "word").count(), 4000);
    let size = hob.result("pdf_info", json!({"path": "long.pdf"}))["pageSize"].clone();
    assert_eq!(size, json!({"width": 792.0, "height": 612.0, "unit": "pt"}));
    let lines = hob.result(
        "create_pdf",
        json!({"content": "one\n    two *not slanted*", "outputPath": "lines.pdf", "format": "text"}),
    );
    assert_eq!(lines["pageCount"], 1);
    assert!(text_of(&disk.join("lines.pdf")).contains("two *not slanted*"));
    let odd = hob.result("create_pdf", json!({"content": "Tea: 茶", "outputPath": "odd.pdf"}));
    assert_eq!(odd["missingCharacters"], "茶");
    for (arguments, status, code) in [
        (json!({"content": "x", "outputPath": "report.pdf"}), 400, "bad_args"),
        (json!({"content": " ", "outputPath": "new.pdf"}), 400, "bad_args"),
        (json!({"content": "x", "outputPath": "../../x.pdf"}), 403, "denied"),
        (json!({"content": "x", "outputPath": "new.pdf", "fontSize": 900}), 400, "bad_args"),
        (json!({"content": "x", "outputPath": "new.pdf", "pageSize": "A9"}), 400, "bad_args"),
        (json!({"content": "a\n\n".repeat(100_000), "outputPath": "new.pdf"}), 400, "bad_args"),
    ] {
        hob.call("create_pdf", arguments).refusal(status, code);
    }
    assert!(!disk.join("new.pdf").exists());
    hob.result("create_pdf", json!({"content": "new", "outputPath": "report.pdf", "overwrite": true}));
    assert_eq!(words(&text_of(&disk.join("report.pdf"))), ["new"]);
    hob.result("undo", json!({}));
    assert!(text_of(&disk.join("report.pdf")).contains("Monday"));
}

#[test]
fn pictures_are_resized_into_new_files() {
    let mut hob = Hob::start();
    let disk = folder(&hob);
    fs::write(disk.join("photo.png"), png(200, 100, 100)).unwrap();
    for (arguments, path, width, height) in [
        (json!({"width": 50, "height": 50}), "photo-50x25.png", 50, 25),
        (json!({"width": 50, "height": 50}), "photo-50x25 (2).png", 50, 25),
        (
            json!({"width": 50, "height": 50, "fit": "cover", "outputPath": "small/a.jpg", "quality": 60}),
            "small/a.jpg",
            50,
            50,
        ),
        (json!({"width": 50, "height": 50, "fit": "contain", "format": "webp"}), "photo-50x50.webp", 50, 50),
        (json!({"width": 50, "height": 50, "fit": "outside", "format": "gif"}), "photo-100x50.gif", 100, 50),
        (json!({"width": 60, "height": 70, "mode": "fill", "format": "bmp"}), "photo-60x70.bmp", 60, 70),
    ] {
        let mut arguments = arguments;
        arguments["image"] = "photo.png".into();
        let made = hob.result("resize_image", arguments.clone());
        assert_eq!(
            (&made["path"], &made["width"], &made["height"]),
            (&json!(path), &json!(width), &json!(height)),
            "{arguments}"
        );
        assert_eq!((&made["originalWidth"], &made["originalHeight"]), (&json!(200), &json!(100)));
        assert_eq!(fs::metadata(disk.join(path)).unwrap().len(), made["size"].as_u64().unwrap());
    }
    // A colour profile may hold any bytes: none of them comes along.
    let mut photo = fs::read(disk.join("small/a.jpg")).unwrap();
    let profile = [&b"ICC_PROFILE\0\x01\x01"[..], b"a word for a stranger"].concat();
    let segment = [&[0xFF, 0xE2][..], &((profile.len() + 2) as u16).to_be_bytes(), &profile].concat();
    photo.splice(2..2, segment);
    fs::write(disk.join("profile.jpg"), photo).unwrap();
    let made =
        hob.result("resize_image", json!({"image": "profile.jpg", "width": 5, "height": 5, "outputPath": "p.jpg"}));
    assert!(made["note"].as_str().unwrap().contains("profile"), "{made}");
    let bytes = fs::read(disk.join("p.jpg")).unwrap();
    assert!(!bytes.windows(11).any(|part| part == b"ICC_PROFILE" || part == b"for a stran"));
    // What was sent is from outside, and so is what is made of it.
    let sent =
        hob.admin("POST", "/api/v1/files").header("x-file-name", "sent.png").body(png(20, 10, 10)).send().data(201);
    hob.result("resize_image", json!({"image": sent["id"], "width": 5, "height": 5, "outputPath": "sent.png"}));
    assert_eq!((mark(&hob, "sent.png"), mark(&hob, "photo-50x25.png")), (json!(true), Value::Null));
    for (arguments, status, code) in [
        (json!({"image": "none.png", "width": 5, "height": 5}), 404, "not_found"),
        (json!({"image": "photo.png", "width": 5, "height": 5, "outputPath": "sent.png"}), 400, "bad_args"),
        (json!({"image": "photo.png", "width": 0, "height": 5}), 400, "bad_args"),
        (json!({"image": "photo.png", "width": 8000, "height": 8000, "fit": "fill"}), 400, "bad_args"),
        (json!({"image": "photo.png", "width": 5, "height": 5, "format": "tiff"}), 400, "bad_args"),
        (json!({"image": "photo.png", "width": 5, "height": 5, "outputPath": "../../../x.png"}), 403, "denied"),
    ] {
        hob.call("resize_image", arguments).refusal(status, code);
    }
    let mut frames = b"GIF89a\x02\0\x02\0\x80\0\0\0\0\0\xff\xff\xff".to_vec();
    (0..1_000_000).for_each(|_| frames.extend(b",\0\0\0\0\x02\0\x02\0\0\x02\x02\x84Q\0"));
    frames.push(b';');
    let mut wide = png(4, 4, 4);
    wide[16..24].copy_from_slice(&[0, 0, 0xC3, 0x50, 0, 0, 0xC3, 0x50]);
    for (name, bytes, fits) in [
        ("bomb.png", png(50_000, 50_000, 2_000), false),
        ("wide.png", wide, false),
        ("large.png", png(19_000, 19_000, 10), false),
        ("cut.png", png(100, 100, 100)[..60].to_vec(), false),
        ("frames.gif", frames, true),
        ("text.png", b"no picture".to_vec(), false),
        ("vector.png", b"<svg xmlns='http://www.w3.org/2000/svg'/>".to_vec(), false),
    ] {
        fs::write(disk.join(name), bytes).unwrap();
        let reply = hob.call("resize_image", json!({"image": name, "width": 2, "height": 2}));
        match fits {
            true => assert_eq!(reply.data(200)["result"]["originalWidth"], 2, "{name}"),
            false => assert!(reply.refusal(400, "bad_args").contains(name), "{name}"),
        }
    }
    hob.assert_alive();
}
