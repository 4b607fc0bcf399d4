use super::*;

/// `Anna | sister of | me`, one a line.
fn plain(text: &str) -> Vec<String> {
    let line = |it: Statement| {
        let object = match it.object {
            StatedObject::Entity(mention) => format!("{} ({})", mention.name, mention.kind),
            StatedObject::Value(value) => value,
        };
        let dates =
            if it.from.is_empty() && it.to.is_empty() { String::new() } else { format!(" {}-{}", it.from, it.to) };
        format!("{} | {} | {object}{dates}", it.subject.name, it.predicate)
    };
    statements(text).into_iter().map(line).collect()
}

#[test]
fn plain_statements_are_read() {
    for (text, wanted) in [
        ("Anna is my sister", &["Anna | sister of | me (person)"][..]),
        ("My sister is called Anna Berger.", &["Anna Berger | sister of | me (person)"]),
        ("my sister's name", &[]),
        ("Tom works at Siemens", &["Tom | works at | Siemens (organisation)"]),
        ("Tom has worked at Siemens", &[]),
        ("Tom works at the General Hospital since 2019.", &["Tom | works at | General Hospital (organisation) 2019-"]),
        (
            "The plumber is Mr. Huber, 0170 1234567",
            &["Mr Huber | occupation | plumber", "Mr Huber | phone | 0170 1234567"],
        ),
        ("Mr Huber is the plumber", &["Mr Huber | occupation | plumber"]),
        (
            "Our dentist is Dr Vogel, reach her at vogel@example.org",
            &["Dr Vogel | dentist of | me (person)", "Dr Vogel | email | vogel@example.org"],
        ),
        (
            "My brother Tom lives in Graz and likes jazz",
            &["Tom | brother of | me (person)", "Tom | lives in | Graz (place)"],
        ),
        ("Ben is Anna's son", &["Ben | son of | Anna (person)"]),
        ("Marta van Dyk is married to Ole Berg", &["Marta van Dyk | married to | Ole Berg (person)"]),
        ("Anna's birthday is on 4 July", &["Anna | birthday | 4 July"]),
        ("Tom's phone number is +43 660 123456", &["Tom | phone | +43 660 123456"]),
        (
            "I live in Vienna. I work at Bosch.",
            &["me | lives in | Vienna (place)", "me | works at | Bosch (organisation)"],
        ),
        ("Ben is allergic to nuts", &["Ben | allergic to | nuts"]),
        ("My cat is called Minka", &["Minka | cat of | me (person)"]),
        ("Anna ist meine Schwester", &["Anna | sister of | me (person)"]),
        ("Meine Schwester heißt Anna", &["Anna | sister of | me (person)"]),
        ("Tom arbeitet bei Siemens seit 2020", &["Tom | works at | Siemens (organisation) 2020-"]),
        (
            "Der Klempner ist Herr Huber, 0170/1234567",
            &["Herr Huber | occupation | plumber", "Herr Huber | phone | 0170/1234567"],
        ),
        ("Ich wohne in Wien", &["me | lives in | Wien (place)"]),
        ("Ana es mi hermana", &["Ana | sister of | me (person)"]),
        ("Mi hermano se llama Luis", &["Luis | brother of | me (person)"]),
        ("Luis trabaja en Telefónica", &["Luis | works at | Telefónica (organisation)"]),
        ("Anne est ma sœur", &["Anne | sister of | me (person)"]),
        ("Ma fille s'appelle Zoé", &["Zoé | daughter of | me (person)"]),
        ("Paul travaille chez Renault", &["Paul | works at | Renault (organisation)"]),
    ] {
        assert_eq!(plain(text), wanted, "{text}");
    }
}

#[test]
fn everything_else_states_nothing() {
    for text in [
        "",
        "?",
        "Is Anna my sister?",
        "Anna is not my sister",
        "If Tom works at Siemens, call him",
        "Tom doesn't work at Siemens",
        "Tom used to live in Graz",
        "Maybe the plumber is Mr Huber",
        "She is my sister",
        "The wifi password is Sunflower",
        "The capital is Vienna",
        "milk is my favourite",
        "the dog is my friend",
        "Someone works at the bank today and everybody knows what that means for all of us here",
        "Today is my birthday",
        "anna works at siemens",
        "Tom thinks he works at",
        "0170 1234567",
        "Anna is my sister's friend",
    ] {
        assert_eq!(plain(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn long_and_odd_texts_end() {
    let long = "Anna is my sister. ".repeat(10_000);
    assert_eq!(statements(&long).len(), 1);
    let many: String =
        (0..100).map(|n| format!("T{} works at Siemens. ", ["a", "b", "c", "d"][n % 4].repeat(n / 4 + 1))).collect();
    assert_eq!(statements(&many).len(), MOST);
    for odd in [
        "’’’",
        "my",
        "my sister",
        "my sister is",
        "the plumber is",
        "'s",
        "Anna's",
        "Anna's birthday is",
        "+",
        "@.",
        "é".repeat(9000).as_str(),
    ] {
        statements(odd);
    }
}
