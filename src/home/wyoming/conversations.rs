//! The conversations of satellites: a sentence soon after another continues it ("and the kitchen?"). They end after some
//! minutes, and are deleted then: nobody could open them on the page.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tool::Id;

/// How long a conversation waits for the next sentence.
pub(crate) const LASTS: Duration = Duration::from_secs(300);
/// The most conversations at a time.
const MOST: usize = 32;

/// A speaker: an address, and the conversation that it names.
pub(crate) type Speaker = (IpAddr, String);

/// The conversations; cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Conversations(Arc<Mutex<HashMap<Speaker, (Id, Instant)>>>);

impl Conversations {
    fn lock(&self) -> MutexGuard<'_, HashMap<Speaker, (Id, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The conversation that this speaker continues.
    pub fn get(&self, speaker: &Speaker) -> Option<Id> {
        self.get_at(speaker, Instant::now())
    }

    fn get_at(&self, speaker: &Speaker, now: Instant) -> Option<Id> {
        self.lock().get(speaker).filter(|(_, used)| now.duration_since(*used) < LASTS).map(|(id, _)| *id)
    }

    /// The speaker used this conversation now. Returns those that ended for it.
    pub fn used(&self, speaker: Speaker, conversation: Id) -> Vec<Id> {
        self.used_at(speaker, conversation, Instant::now())
    }

    fn used_at(&self, speaker: Speaker, conversation: Id, now: Instant) -> Vec<Id> {
        let mut all = self.lock();
        let before = all.insert(speaker, (conversation, now)).map(|(id, _)| id).filter(|id| *id != conversation);
        let mut ended: Vec<Id> = before.into_iter().collect();
        while all.len() > MOST {
            let oldest = all.iter().min_by_key(|(_, (_, used))| *used).map(|(speaker, _)| speaker.clone());
            ended.extend(oldest.and_then(|oldest| all.remove(&oldest)).map(|(id, _)| id));
        }
        ended
    }

    /// The speaker's conversation has ended.
    pub fn forget(&self, speaker: &Speaker) {
        self.lock().remove(speaker);
    }

    /// Takes out those whose time is over.
    pub fn expired(&self) -> Vec<Id> {
        self.expired_at(Instant::now())
    }

    fn expired_at(&self, now: Instant) -> Vec<Id> {
        let mut ended = vec![];
        self.lock().retain(|_, (id, used)| {
            let lasts = now.duration_since(*used) < LASTS;
            ended.extend((!lasts).then_some(*id));
            lasts
        });
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_lasts_for_some_minutes() {
        let (all, now, id) = (Conversations::default(), Instant::now(), Id::new());
        let speaker = (IpAddr::from([10, 0, 0, 1]), "a".to_owned());
        assert_eq!(all.get_at(&speaker, now), None);
        assert_eq!(all.used_at(speaker.clone(), id, now), []);
        assert_eq!(all.get_at(&speaker, now), Some(id));
        assert_eq!(all.get_at(&(speaker.0, "b".into()), now), None, "another conversation of the same address");
        assert_eq!(all.get_at(&speaker, now + LASTS), None);
        assert_eq!((all.expired_at(now), all.expired_at(now + LASTS)), (vec![], vec![id]));
        assert_eq!(all.expired_at(now + LASTS), []);
    }

    #[test]
    fn conversations_are_bounded() {
        let (all, now) = (Conversations::default(), Instant::now());
        let ids: Vec<Id> = (0..40).map(|_| Id::new()).collect();
        let mut ended = vec![];
        for (n, id) in ids.iter().enumerate() {
            let speaker = (IpAddr::from([10, 0, 0, 1]), n.to_string());
            ended.extend(all.used_at(speaker, *id, now + Duration::from_millis(n as u64)));
        }
        assert_eq!(ended, ids[..8]);
        // A speaker that begins again ends their earlier conversation.
        let speaker = (IpAddr::from([10, 0, 0, 1]), "39".to_owned());
        assert_eq!(all.used_at(speaker, Id::new(), now), [ids[39]]);
    }
}
