"""What the name of a column says: its topic, in English and in the commonest words of German, French and Spanish.

A topic suggests a role, says whether numbers under it have an order, and names the law that calls it an identifier or
a special category: HIPAA's eighteen identifiers (45 CFR 164.514(b)(2)) and article 9 of the GDPR. It is a hint, and the
values have to agree with it.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Topic:
    """What columns of some names are about.

    Attributes
    ----------
    name
        For people: `an age`.
    role
        quasi, sensitive, identifier or unit; empty if it suggests none.
    words
        Words of a column's name: `age`; a beginning, `geburt-`; an ending, `-nummer`; or several in a row.
    nature
        What numbers under it are: `measure` (they have an order) or `codes` (they have none); empty if it does not
        say.
    law
        Who calls it special; empty if nobody.
    """

    name: str
    role: str
    words: str
    nature: str = ""
    law: str = ""


HEALTH = "GDPR art. 9: health"
TOPICS = (
    # Who it is: HIPAA's identifiers.
    Topic("a name", "identifier", "name|names|firstname|lastname|surname|fullname|forename|maiden|vorname|nachname|"
          "familienname|nom|noms|prenom|prenoms|nombre|nombres|apellido|apellidos", "", "HIPAA: names"),
    Topic("an e-mail address", "identifier", "email|emails|mail|courriel|correo", "", "HIPAA: e-mail addresses"),
    Topic("a telephone number", "identifier", "phone|telephone|telefon|telefono|tel|mobile|mobil|handy|portable|movil|"
          "telefonnummer", "", "HIPAA: telephone numbers"),
    Topic("a fax number", "identifier", "fax|telefax", "", "HIPAA: fax numbers"),
    Topic("an address", "identifier", "address|addr|street|adresse|anschrift|strasse|hausnummer|rue|direccion|calle|"
          "domicilio", "", "HIPAA: geographic units below a state"),
    Topic("a social security number", "identifier", "ssn|social security|sozialversicherung-|svnr|nir|nss|dni|nif|nie|"
          "national id|passport|ausweis-|reisepass|passeport|pasaporte", "", "HIPAA: social security numbers"),
    Topic("a medical record number", "identifier", "mrn|medical record|record number|encounter|fallnummer|fallnr|"
          "aktenzeichen|dossier|expediente|historia clinica", "codes", "HIPAA: medical record numbers"),
    Topic("a health plan number", "identifier", "beneficiary|policy number|insurance number|versichertennummer|kvnr|"
          "krankenkassennummer|numero assure|poliza", "codes", "HIPAA: health plan beneficiary numbers"),
    Topic("an account number", "identifier", "account|iban|konto|kontonummer|compte|cuenta|credit card", "codes",
          "HIPAA: account numbers"),
    Topic("a licence number", "identifier", "license|licence|driver license|fuehrerschein|fuhrerschein|permis|licencia|"
          "certificate", "codes", "HIPAA: certificate and licence numbers"),
    Topic("a vehicle", "identifier", "vin|license plate|plate|kennzeichen|immatriculation|matricula", "codes",
          "HIPAA: vehicle identifiers"),
    Topic("a device", "identifier", "serial|imei|imsi|mac|device id|seriennummer|numero serie", "codes",
          "HIPAA: device identifiers"),
    Topic("a web address", "identifier", "url|website|homepage|web", "", "HIPAA: web addresses"),
    Topic("an IP address", "identifier", "ip|ipaddress|ip address", "", "HIPAA: IP addresses"),
    Topic("a fingerprint or the like", "identifier", "fingerprint|voiceprint|iris|retina|fingerabdruck|empreinte|"
          "huella", "", "HIPAA: biometric identifiers; GDPR art. 9: biometric data"),
    Topic("a picture", "identifier", "photo|picture|portrait|photograph|foto|lichtbild|imagen", "",
          "HIPAA: full-face photographs"),
    Topic("free text", "identifier", "comment|comments|note|notes|remark|remarks|narrative|freetext|free text|"
          "bemerkung|bemerkungen|kommentar|notiz|commentaire|remarque|comentario|observaciones|observacion"),
    # Whose row it is.
    Topic("whose row it is", "unit", "patient|patients|person|subject|participant|member|customer|client|user|pupil|"
          "student|employee|respondent|patientin|kunde|kundin|versicherte-|teilnehmer|mitarbeiter|schueler|paciente|"
          "cliente|usuario|empleado|alumno|sujet|assure|eleve|salarie", "codes",
          "HIPAA: any other unique identifying number"),
    # What others can know.
    Topic("an age", "quasi", "age|ages|agep|alter|edad|lebensalter", "measure", "HIPAA: ages over 89"),
    Topic("a sex or gender", "quasi", "sex|gender|geschlecht|sexe|sexo|genre|genero", "codes"),
    Topic("a postal code", "quasi", "zip|zipcode|postcode|postalcode|plz|postleitzahl|code postal|codigo postal|"
          "codepostal|codigopostal|postal code|postal", "codes", "HIPAA: geographic units below a state"),
    Topic("a place", "quasi", "city|town|village|county|district|municipality|commune|ville|ort|stadt|gemeinde|"
          "landkreis|kreis|ciudad|municipio|provincia|departement|puma|tract|block|neighborhood|neighbourhood", "codes",
          "HIPAA: geographic units below a state"),
    Topic("a region", "quasi", "state|region|country|nation|nationality|citizenship|land|bundesland|pays|pais|estado|"
          "staatsangehoerigkeit|nationalite|nacionalidad|citizen", "codes"),
    Topic("a race or ethnic origin", "quasi", "race|rac1p|ethnic-|hispanic|hisp|rasse|ethnie|raza|etnia|"
          "herkunft", "codes", "GDPR art. 9: racial or ethnic origin"),
    Topic("a date of birth", "quasi", "birth-|dob|birthdate|birthday|geburt-|gebdat|naissance|nacimiento|fnac",
          "measure", "HIPAA: dates of a person"),
    Topic("a marital status", "quasi", "marital|married|marriage|msp|familienstand|civilstand|etat civil|estado civil|"
          "matrimonial", "codes"),
    Topic("an education", "quasi", "education|edu|educ|degree|school|schooling|bildung|abschluss|schulabschluss|"
          "diplome|educacion|estudios|formation"),
    Topic("an occupation", "quasi", "occupation|job|profession|workclass|employer|industry|indp|beruf|taetigkeit|"
          "metier|profesion|ocupacion|empleo|branche", "codes"),
    Topic("a household", "quasi", "household|family|children|relationship|dependents|haushalt|kinder|menage|enfants|"
          "hogar|hijos|housing"),
    Topic("a language", "quasi", "language|sprache|langue|idioma|lengua", "codes"),
    Topic("a date", "quasi", "date|datum|fecha|admitted|discharged|admission date|discharge date|aufnahme-|entlass-",
          "", "HIPAA: dates of a person"),
    # What must not be learned.
    Topic("a diagnosis", "sensitive", "diagnos-|diag|dx|icd|icd9|icd10|disease|illness|condition|krankheit|maladie|"
          "enfermedad|cause of death|todesursache|injury|symptom-|befund", "codes", HEALTH),
    Topic("a treatment", "sensitive", "drug|drugs|medication-|treatment|therap-|procedure-|surgery|medikament-|"
          "behandlung|traitement|medicament-|tratamiento|medicamento-|insulin|operation", "", HEALTH),
    Topic("a state of health", "sensitive", "health|hiv|cancer|tumor|tumour|diabetes|asthma|blood|pressure|bp|"
          "chol|cholesterol|glucose|bmi|lab|labs|test result|result|disab-|behinderung|handicap|discapacidad|pregnan-|"
          "schwanger-|smok-|alcohol|death|died|mental|gesundheit|sante|salud|blutdruck|gewicht", "", HEALTH),
    Topic("a gene", "sensitive", "gene|genes|genotype|dna|snp|mutation|gen|genom-|adn", "",
          "GDPR art. 9: genetic data"),
    Topic("a religion", "sensitive", "relig-|faith|creed|konfession|glaube|iglesia|church", "codes",
          "GDPR art. 9: religious beliefs"),
    Topic("a political opinion", "sensitive", "politic-|party|vote|voted|partei|wahl|parti|partido|voto", "codes",
          "GDPR art. 9: political opinions"),
    Topic("a union membership", "sensitive", "union|gewerkschaft|syndicat|sindicato", "codes",
          "GDPR art. 9: trade union membership"),
    Topic("a sexual orientation", "sensitive", "orientation|sexual-|sexuality|orientierung|orientacion", "codes",
          "GDPR art. 9: sex life or orientation"),
    Topic("a crime", "sensitive", "crime|criminal|conviction|offence|offense|arrest|straf-|vorstrafe|delit|delito|"
          "condena|condamnation", "", "GDPR art. 10: criminal convictions"),
    Topic("money", "sensitive", "income|salary|wage|wages|pay|earnings|charge|charges|cost|costs|price|amount|balance|"
          "debt|tax|taxes|revenue|pincp|gehalt|lohn|einkommen|betrag|kosten|preis|schulden|salaire|revenu|montant|prix|"
          "cout|salario|ingreso|ingresos|renta|sueldo|precio|importe|capital|dividend-|gain|loss", "measure"),
)  # fmt: skip

COUNTED = Topic(
    "a count or measure", "", "count|counts|number|num|anzahl|zahl|cantidad|nombre de|hours|days|weeks|months|years|"
    "year|minutes|seconds|duration|length|width|height|weight|size|distance|rate|ratio|percent|score|level|dose|temp|"
    "temperature|pulse|time|los|stunden|tage|wochen|monate|jahre|jahr|dauer|laenge|groesse|gewicht|heures|jours|annee|"
    "annees|duree|poids|taille|horas|dias|anos|peso|altura|duracion|mg|ml|kg|cm|mm|quantity|visits|total|sum|mean",
    "measure",
)  # fmt: skip
CODED = Topic(
    "a code", "", "id|ids|code|codes|cd|recode|type|typ|category|cat|class|group|kind|status|stat|flag|indicator|key|"
    "kategorie|klasse|gruppe|art|categorie|groupe|categoria|grupo|tipo|clase|clave|schluessel", "codes",
)  # fmt: skip
NUMBERED = Topic(
    "a number for someone or something",
    "",
    "id|ids|nbr|nr|no|number|num|nummer|numero|uuid|guid|key|kennung|-nummer|-id",
)


def words_of(name: str) -> list[str]:
    """The words of a column's name, in small letters without accents.

    Examples
    --------
    >>> words_of("códigoPostal_2"), words_of("Straße"), words_of("patient.NBR")
    (['codigo', 'postal', '2'], ['strasse'], ['patient', 'nbr'])
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    plain = unicodedata.normalize("NFKD", parted.casefold().replace("ß", "ss"))
    return re.findall(r"[^\W_]+", "".join(letter for letter in plain if not unicodedata.combining(letter)))


@lru_cache(maxsize=4096)
def topics_of(name: str) -> tuple[Topic, ...]:
    """All topics that a name has words of, the most telling first.

    Examples
    --------
    >>> [topic.name for topic in topics_of("Geburtsdatum")], [topic.name for topic in topics_of("codigo_postal")]
    (['a date of birth'], ['a postal code'])
    >>> topics_of("cp")
    ()
    """
    words = words_of(name)
    return tuple(topic for topic in TOPICS if says(topic, words))


def says(topic: Topic, words: list[str]) -> bool:
    """Whether some of the words are of a topic."""
    whole, beginnings, endings, several = _looked_up(topic)
    if not whole.isdisjoint(words):
        return True
    if (beginnings or endings) and any(word.startswith(beginnings) or word.endswith(endings) for word in words):
        return True
    if not several or len(words) < 2:
        return False
    text = f" {' '.join(words)} "
    return any(f" {phrase} " in text for phrase in several)


@lru_cache
def _looked_up(topic: Topic) -> tuple[frozenset[str], tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """The words of a topic, those that begin one, those that end one, and those that are several."""
    words = topic.words.split("|")
    beginnings = tuple(word[:-1] for word in words if word.endswith("-"))
    endings = tuple(word[1:] for word in words if word.startswith("-"))
    several = tuple(word for word in words if " " in word)
    return frozenset(words), beginnings, endings, several
