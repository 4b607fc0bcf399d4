//! The people of the household: names, roles and passwords.

use crate::{
    Client, Error, Identity, OWNER, Result,
    password::CheckSource,
    records::{Credential, Person},
    stamp,
};
use serde::{Deserialize, Serialize};
use store::{Entry, Listing};
use tool::{
    Id, Label, Role, Scope, UserId,
    prelude::{JsonSchema, schemars},
};
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

/// A person.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonView {
    pub id: Id,
    pub name: String,
    /// The most they may do.
    pub role: Role,
    /// Whether they claimed the device; always an admin, and always there.
    pub owner: bool,
    pub has_password: bool,
    /// Whether it is only the name of tokens: a program, not somebody who lives here.
    pub program: bool,
    /// Until when an open invitation is valid: milliseconds since 1970.
    pub invited_until: Option<u64>,
    /// Milliseconds since 1970; 0 for the owner.
    pub created_at: u64,
}

impl PersonView {
    /// The owner of a device that was set up with a token, or claimed by an older Hob: they have no record.
    fn unrecorded_owner() -> Self {
        let id = UserId::OWNER.0;
        Self {
            id,
            name: OWNER.into(),
            role: Role::Admin,
            owner: true,
            has_password: false,
            program: false,
            invited_until: None,
            created_at: 0,
        }
    }
}

impl From<&Entry<Person>> for PersonView {
    fn from(person: &Entry<Person>) -> Self {
        let owner = UserId(person.id) == UserId::OWNER;
        Self {
            id: person.id,
            name: person.value.name.clone(),
            role: if owner { Role::Admin } else { person.value.ceiling.role() },
            owner,
            has_password: !person.value.password.is_empty(),
            program: person.value.program && person.value.password.is_empty(),
            invited_until: None,
            created_at: if owner { 0 } else { person.id.millis() },
        }
    }
}

/// A person to add.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPerson {
    /// 1 to 64 characters; Anna and anna are one person.
    pub(crate) name: String,
    pub(crate) role: Role,
    /// 10 characters or more; without one they come in with an invitation or tokens.
    pub(crate) password: Option<String>,
}

/// Changes of a person; what is left out stays.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PersonPatch {
    name: Option<String>,
    role: Option<Role>,
    /// A new password; their other sessions end. An admin may remove it with an empty one.
    password: Option<String>,
    /// The current password, to change one's own.
    current_password: Option<String>,
}

/// The person who requests a change.
#[derive(Debug, Clone, Copy)]
pub struct Editor {
    pub user: UserId,
    pub role: Role,
    /// The credential of the request: this session survives a new password.
    pub credential: Option<Id>,
    /// Whether the person acts themselves at the page, not through a token.
    pub at_page: bool,
}

/// Trims and normalizes a name of 1 to 64 visible characters.
pub(crate) fn parse_name(name: &str) -> Result<String> {
    let name: String = name.trim().nfc().collect();
    if name.is_empty() || name.chars().count() > 64 {
        return Err(Error::bad_args("a name must have 1 to 64 characters"));
    }
    if name.chars().any(|c| c.is_control() || get_general_category(c) == GeneralCategory::Format) {
        return Err(Error::bad_args("a name must not have invisible characters: type it anew"));
    }
    Ok(name)
}

/// Parses a name and reserves `owner` for the owner.
fn parse_free_name(name: &str, id: Option<Id>) -> Result<String> {
    let name = parse_name(name)?;
    if name.eq_ignore_ascii_case(OWNER) && id != Some(UserId::OWNER.0) {
        return Err(Error::bad_args("`owner` is the person who claimed this Hob: choose another name"));
    }
    Ok(name)
}

impl Identity {
    pub(crate) fn record_of(&self, user: UserId) -> Result<Option<Entry<Person>>> {
        Ok(self.0.people.get_in(Scope::Household, user.0)?)
    }

    /// The record of a name; `owner` is always the owner.
    pub(crate) fn record_named(&self, name: &str) -> Result<Option<Entry<Person>>> {
        let name = name.trim().nfc().collect::<String>().to_lowercase();
        if name == OWNER {
            return self.record_of(UserId::OWNER);
        }
        let listing = Listing { by: Some((1, name.into_bytes())), limit: 1, before: None };
        Ok(self.0.people.list_in(Scope::Household, &listing)?.pop())
    }

    /// A person of the household.
    pub fn person(&self, user: UserId) -> Result<Option<PersonView>> {
        let found = self.record_of(user)?.as_ref().map(PersonView::from);
        Ok(found.or_else(|| (user == UserId::OWNER).then(PersonView::unrecorded_owner)))
    }

    /// A person by name or id.
    pub fn find_person(&self, name_or_id: &str) -> Result<Option<PersonView>> {
        if let Ok(id) = name_or_id.parse() {
            return self.person(UserId(id));
        }
        let found = self.record_named(name_or_id)?.as_ref().map(PersonView::from);
        Ok(found.or_else(|| (name_or_id == OWNER).then(PersonView::unrecorded_owner)))
    }

    /// Everybody, the owner first.
    pub fn people(&self) -> Result<Vec<PersonView>> {
        let records = self.0.people.list_in(Scope::Household, &Listing::default())?;
        let mut people: Vec<PersonView> = records.iter().map(PersonView::from).collect();
        if !people.iter().any(|p| p.owner) {
            people.push(PersonView::unrecorded_owner());
        }
        for person in &mut people {
            person.invited_until = self.invited_until(UserId(person.id))?;
        }
        people.sort_by_key(|p| (!p.owner, p.created_at));
        Ok(people)
    }

    pub async fn add_person(&self, new: NewPerson) -> Result<PersonView> {
        let name = parse_free_name(&new.name, None)?;
        let password = self.hash_new_password(new.password.as_deref()).await?;
        let person = Person { name, ceiling: new.role.into(), password, program: false };
        let (inner, id) = (self.0.clone(), Id::new());
        let add = move |tx: &store::Tx| inner.people.put(tx, id, &stamp(), &person);
        Ok(PersonView::from(&self.0.people.store().write(add).await?))
    }

    /// The hash of a first password; empty without one.
    pub(crate) async fn hash_new_password(&self, password: Option<&str>) -> Result<String> {
        match password.filter(|p| !p.is_empty()) {
            Some(password) => self.0.passwords.hash(CheckSource::Known, password).await,
            None => Ok(String::new()),
        }
    }

    /// Changes a person: admins everybody, everybody their own name and password at the page.
    ///
    /// # Errors
    /// `Denied` for what the editor may not do, `WrongPassword` when `currentPassword` is wrong, `TooManyAttempts`.
    pub async fn change_person(&self, editor: Editor, id: Id, patch: PersonPatch) -> Result<PersonView> {
        let (owner, is_self) = (UserId(id) == UserId::OWNER, editor.user == UserId(id) && editor.at_page);
        let is_admin = editor.role == Role::Admin;
        if (!is_self || patch.role.is_some()) && !is_admin {
            return Err(Error::denied("only an admin may do this"));
        }
        if owner && patch.role.is_some_and(|role| role != Role::Admin) {
            return Err(Error::bad_args("the owner is always an admin"));
        }
        let found = self.record_of(UserId(id))?;
        if found.is_none() && !owner {
            return Err(Error::not_found(format!("there is no person {id}")));
        }
        let name = patch.name.as_deref().map(|name| parse_free_name(name, Some(id))).transpose()?;
        let current_hash = found.map(|p| p.value.password).unwrap_or_default();
        let client = Client::Person(editor.user);
        if patch.password.is_some() {
            // Each check is slow on purpose.
            self.0.password_attempts.count(client)?;
        }
        if is_self && patch.password.is_some() {
            if current_hash.is_empty() && !is_admin {
                return Err(Error::denied("an admin gives you your first password: ask one"));
            }
            let current = patch.current_password.as_deref().unwrap_or_default();
            if !current_hash.is_empty() && !self.0.passwords.matches(CheckSource::Known, current, &current_hash).await?
            {
                return Err(Error::WrongPassword("`currentPassword` is not your password so far"));
            }
        }
        let password = match patch.password.as_deref() {
            Some("") if !is_admin => {
                return Err(Error::denied("only an admin may take a password away: choose another one instead"));
            }
            Some("") => Some(String::new()),
            Some(password) => Some(self.0.passwords.hash(CheckSource::Known, password).await?),
            None => None,
        };
        if password.is_some() {
            self.0.password_attempts.forgive(client);
        }
        let (inner, role) = (self.0.clone(), patch.role);
        let change = move |tx: &store::Tx| {
            if password.is_some() {
                // A new password ends the sessions that were opened with the old one.
                let theirs = |c: &Entry<Credential>| c.value.user == UserId(id) && c.value.session;
                inner.revoke(tx, |c| theirs(c) && Some(c.id) != editor.credential)?;
            }
            if owner && inner.people.read(tx, Scope::Household, id)?.is_none() {
                let person =
                    Person { name: OWNER.into(), ceiling: Role::Admin.into(), password: String::new(), program: false };
                inner.people.put(tx, id, &stamp(), &person)?;
            }
            inner.people.change(tx, Scope::Household, Label::Own, id, &mut |person| {
                if let Some(name) = &name {
                    person.name.clone_from(name);
                }
                if let Some(password) = &password {
                    person.password.clone_from(password);
                    person.program = false;
                }
                if let Some(role) = role {
                    person.ceiling = role.into();
                } else if password.is_some() {
                    // A person who signs in with a password has exactly the role of the record.
                    person.ceiling = person.ceiling.role().into();
                }
                Ok(())
            })
        };
        Ok(PersonView::from(&self.0.people.store().write(change).await?))
    }

    /// Removes a person with their tokens and sessions. Their records stay.
    pub async fn remove_person(&self, id: Id) -> Result<()> {
        if UserId(id) == UserId::OWNER {
            return Err(Error::bad_args("the owner cannot be removed: they claimed this Hob"));
        }
        let inner = self.0.clone();
        let remove = move |tx: &store::Tx| {
            inner.revoke(tx, |c| c.value.user == UserId(id))?;
            inner.remove_invitations(tx, UserId(id))?;
            inner.people.remove(tx, Scope::Household, id)
        };
        match self.0.people.store().write(remove).await? {
            true => Ok(()),
            false => Err(Error::not_found(format!("there is no person {id}"))),
        }
    }
}
