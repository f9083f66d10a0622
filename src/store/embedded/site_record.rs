//! The record of a site.

use super::bytes::{Reader, open, put_optional, put_text, put_varint, seal};
use super::damage::Damage;
use super::fields::{
    put_optional_text, put_retention, put_version, read_optional_text, read_retention, read_version,
};
use crate::model::{Contact, Position, SensorId, Site, SiteId};
use crate::store::{CopiesProgress, StoredSite};

const FORMAT: u8 = 1;

/// The bytes of all but the id.
pub(super) fn encode(stored: &StoredSite) -> Vec<u8> {
    let site = &stored.site;
    let mut out = vec![FORMAT];
    put_version(&mut out, stored.version);
    for text in [
        &site.name,
        &site.city,
        &site.address,
        &site.time_zone,
        &site.notes,
    ] {
        put_optional_text(&mut out, text.as_deref());
    }
    put_optional(&mut out, site.position, |out, position| {
        out.extend_from_slice(&position.latitude.to_le_bytes());
        out.extend_from_slice(&position.longitude.to_le_bytes());
    });
    put_varint(&mut out, site.contacts.len() as u64);
    for contact in &site.contacts {
        for text in [&contact.name, &contact.role, &contact.email, &contact.phone] {
            put_optional_text(&mut out, text.as_deref());
        }
    }
    put_retention(&mut out, site.retention);
    put_optional(&mut out, stored.copies.as_ref(), |out, progress| {
        put_optional(out, progress.after.as_ref(), |out, after| {
            put_text(out, after.as_str());
        });
        put_varint(out, progress.done);
    });
    seal(&mut out);
    out
}

pub(super) fn decode(id: SiteId, record: &[u8]) -> Result<StoredSite, Damage> {
    let (format, mut reader) = open(record)?;
    if format != FORMAT {
        return Err(Damage::UnknownFormat(format));
    }
    let version = read_version(&mut reader)?;
    let mut text = || read_optional_text(&mut reader);
    let [name, city, address, time_zone, notes] = [text()?, text()?, text()?, text()?, text()?];
    let site = Site {
        id,
        name,
        city,
        address,
        time_zone,
        notes,
        position: reader.optional(|reader| {
            Ok(Position {
                latitude: reader.f64()?,
                longitude: reader.f64()?,
            })
        })?,
        contacts: read_contacts(&mut reader)?,
        retention: read_retention(&mut reader)?,
    };
    let copies = reader.optional(read_progress)?;
    reader.end()?;
    Ok(StoredSite {
        site,
        version,
        copies,
    })
}

fn read_contacts(reader: &mut Reader<'_>) -> Result<Vec<Contact>, Damage> {
    let mut contacts = Vec::new();
    for _ in 0..reader.count()? {
        contacts.push(Contact {
            name: read_optional_text(reader)?,
            role: read_optional_text(reader)?,
            email: read_optional_text(reader)?,
            phone: read_optional_text(reader)?,
        });
    }
    Ok(contacts)
}

fn read_progress(reader: &mut Reader<'_>) -> Result<CopiesProgress, Damage> {
    let after = reader.optional(|reader| {
        SensorId::new(reader.text()?).map_err(|_| Damage::Invalid("it names no legal sensor"))
    })?;
    Ok(CopiesProgress {
        after,
        done: reader.varint()?,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::embedded::bytes::unseal;
    use crate::store::embedded::tests::samples::stored_site;

    proptest! {
        #[test]
        fn sites_come_back(stored in stored_site()) {
            let record = encode(&stored);
            prop_assert_eq!(decode(stored.site.id.clone(), &record), Ok(stored));
        }

        #[test]
        fn bytes_that_are_cut_off_are_refused(
            stored in stored_site(),
            cut: prop::sample::Index,
        ) {
            let record = encode(&stored);
            let body = unseal(&record).unwrap();
            let mut cut_off = body[..cut.index(body.len())].to_vec();
            seal(&mut cut_off);
            prop_assert!(decode(stored.site.id, &cut_off).is_err());
        }
    }
}
