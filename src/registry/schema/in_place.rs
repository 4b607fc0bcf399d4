//! Keywords that apply other schemas to the same value, and those that look at the fields and items left over.

use super::{Check, Fault, FaultKind, Place, Token, definition, excerpt, references::Target};
use serde_json::Value;
use std::mem;

impl<'a> Check<'a> {
    pub(super) fn in_place(&mut self, keyword: &str, rule: &'a Value, place: Place<'a>) -> bool {
        let (base, value) = (place.base, place.value);
        let schemas = || rule.as_array().into_iter().flatten();
        match keyword {
            "allOf" => {
                let mut fits = true;
                for schema in schemas() {
                    fits &= self.apply(schema, base, value);
                    if !fits && self.quick {
                        return false;
                    }
                }
                fits
            }
            "anyOf" => {
                let mut fits = false;
                for schema in schemas() {
                    fits |= self.try_quickly(|this| this.apply(schema, base, value));
                    // The others may speak of more fields.
                    if fits && !self.schema.unevaluated {
                        return true;
                    }
                }
                fits || self.fail(place.schema, value, || FaultKind::Type)
            }
            "oneOf" => self.one_of(rule, place),
            "not" => {
                let evaluated = mem::take(&mut self.evaluated);
                let fits = self.try_quickly(|this| this.apply(rule, base, value));
                self.evaluated = evaluated;
                self.expect_or_say(!fits, place, || format!("{rule} is not allowed for {}", excerpt(value)))
            }
            "if" => {
                let fits = self.try_quickly(|this| this.apply(rule, base, value));
                let next = place.map.get(if fits { "then" } else { "else" });
                next.is_none_or(|next| self.apply(next, base, value))
            }
            _ => self.reference(keyword, rule.as_str().unwrap_or_default(), place),
        }
    }

    fn one_of(&mut self, rule: &'a Value, place: Place<'a>) -> bool {
        let (mut fitting, mut forms): (u32, Vec<Vec<Fault>>) = (0, vec![]);
        for schema in rule.as_array().into_iter().flatten() {
            let around = mem::take(&mut self.faults);
            fitting += u32::from(self.apply(schema, place.base, place.value));
            forms.push(mem::replace(&mut self.faults, around));
        }
        match fitting {
            1 => true,
            0 => self.fail(place.schema, place.value, || FaultKind::Forms(forms)),
            _ => self.expect_or_say(false, place, || {
                let value = excerpt(place.value);
                format!("{value} is valid under more than one of the schemas listed in the 'oneOf' keyword")
            }),
        }
    }

    fn reference(&mut self, keyword: &str, reference: &'a str, place: Place<'a>) -> bool {
        let (mut part, mut base) = match self.references.resolve(reference, place.base) {
            Some(Target::Part(part)) => part,
            Some(Target::MetaSchema) => {
                let checked = definition::check_shape(place.value);
                return self.expect_or_say(checked.is_ok(), place, || checked.err().unwrap_or_default());
            }
            None => return true,
        };
        // A dynamic reference leads to the outermost resource that has such an anchor.
        let anchor = reference.rsplit('#').next().unwrap_or_default();
        match keyword {
            "$dynamicRef" if part["$dynamicAnchor"] == *anchor => {
                let found = self.scope.iter().find_map(|resource| self.references.dynamic_anchor(anchor, resource));
                (part, base) = found.unwrap_or((part, base));
            }
            "$recursiveRef" if part["$recursiveAnchor"] == true => {
                let found = self.scope.iter().find(|resource| resource["$recursiveAnchor"] == true);
                (part, base) = found.map_or((part, base), |resource| (*resource, *resource));
            }
            _ => {}
        }
        self.apply(part, base, place.value)
    }

    /// `unevaluatedProperties` and `unevaluatedItems`, after all other keywords of a schema.
    pub(super) fn unevaluated(&mut self, place: Place<'a>) -> bool {
        let mut fits = true;
        if let (Some(rule), Value::Object(fields)) = (place.map.get("unevaluatedProperties"), place.value) {
            let others: Vec<_> =
                fields.iter().filter(|(name, _)| !self.evaluated.fields.contains(name.as_str())).collect();
            if *rule == false && !others.is_empty() {
                let names: Vec<&str> = others.iter().map(|(name, _)| name.as_str()).collect();
                let text = || format!("Unevaluated properties are not allowed ('{}')", names.join("', '"));
                fits &= self.expect_or_say(false, place, text);
            } else {
                fits &= self.each_field(others.into_iter().map(|field| (rule, field)), place);
            }
        }
        if let (Some(rule), Value::Array(items)) = (place.map.get("unevaluatedItems"), place.value) {
            for (index, item) in items.iter().enumerate() {
                if self.evaluated.items.insert(index) {
                    fits &= self.inside(Token::Index(index), rule, place.base, item);
                }
            }
        }
        fits
    }
}
