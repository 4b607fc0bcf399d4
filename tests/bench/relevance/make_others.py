"""Writes others.txt: 700 memories of the same household that answer none of the queries. Run once; the file is committed."""

import random
from pathlib import Path

DICE = random.Random(1919)
SLOTS = {
    "en": {
        "who": "Emma|Oliver|Nina|Paul|Clara|Ben|Lucy|Liam|Mr Okafor|the twins|our neighbour|cousin Mark|Aunt Vera".split("|"),
        "thing": "the toaster|the blue bicycle|the reading lamp|the coffee grinder|the sewing machine|the dining table|"
        "the record player|the picnic rug|the aquarium|the ironing board|the garden hose|the rucksack|the vacuum cleaner|the mixer".split("|"),
        "place": "in the loft|in the cupboard under the stairs|behind the sofa|on the top shelf|at the summer house|in the laundry room|"
        "next to the fuse box|in the boot of the car|in the left drawer|by the back door".split("|"),
        "day": "on Monday|last Tuesday|on 4 May|in early spring|over Easter|on the second weekend of June|in November|at New Year".split("|"),
        "shop": "the market|the hardware store|Henderson's|the charity shop|the bakery on the corner|an online shop".split("|"),
        "food": "rhubarb crumble|lentil soup|mushroom risotto|plum jam|sourdough|fish pie|carrot cake|pea salad".split("|"),
    },
    "de": {
        "who": "Lena|Moritz|Jakob|Julian|Opa|die Cousine|Herr Pichler|Tante Mizzi|unser Mieter|Papa|die Nachbarin|Onkel Franz".split("|"),
        "thing": "der Toaster|das Gitarrenetui|die Leselampe|der Wasserkocher|die Nähmaschine|der Esstisch|der Plattenspieler|"
        "die Picknickdecke|das Aquarium|das Bügelbrett|der Gartenschlauch|der Rucksack|der Staubsauger|das Fernglas".split("|"),
        "place": "auf dem Dachboden|im Kasten unter der Stiege|hinter dem Sofa|im obersten Regal|im Schrebergarten|in der Waschküche|"
        "neben dem Sicherungskasten|im Kofferraum|in der linken Lade|bei der Hintertür".split("|"),
        "day": "am Montag|letzten Dienstag|am 4. Mai|im Vorfrühling|über Pfingsten|am zweiten Wochenende im Juni|im November|zu Silvester".split("|"),
        "shop": "am Markt|im Baumarkt|bei Möbel Lutz|im Secondhandladen|in der Bäckerei am Eck|in einem Onlineshop".split("|"),
        "food": "Rhabarberkuchen|Linsensuppe|Schwammerlrisotto|Zwetschkenmarmelade|Sauerteigbrot|Fischauflauf|Karottenkuchen|Erbsensalat".split("|"),
    },
    "es": {
        "who": "Lucía|Hugo|Sara|Nico|Ana|el abuelo|la prima Belén|Javier|los mellizos|el vecino del segundo|papá|la tía Carmen".split("|"),
        "thing": "la tostadora|la bicicleta vieja|la lámpara de leer|el molinillo|la máquina de coser|la mesa del comedor|el tocadiscos|"
        "la manta de picnic|el acuario|la tabla de planchar|la manguera|la mochila|la aspiradora|los prismáticos".split("|"),
        "place": "en el altillo|en el armario del pasillo|detrás del sofá|en la estantería de arriba|en la casa del pueblo|en el lavadero|"
        "junto a los plomos|en el maletero|en el cajón izquierdo|al lado de la puerta de atrás".split("|"),
        "day": "el lunes|el martes pasado|el 4 de mayo|a principios de primavera|en Semana Santa|el segundo fin de semana de junio|en diciembre|en Nochevieja".split("|"),
        "shop": "en el mercado|en la ferretería|en el rastro|en la tienda de segunda mano|en la panadería|por internet".split("|"),
        "food": "bizcocho de zanahoria|sopa de lentejas|arroz con setas|mermelada de ciruela|pan de masa madre|pastel de pescado|ensaladilla|croquetas".split("|"),
    },
    "fr": {
        "who": "Camille|Théo|Zoé|Louis|Papi|la cousine Anaïs|Thomas|les jumeaux|le voisin du dessus|papa|tante Odile|Karim".split("|"),
        "thing": "le grille-pain|le vieux vélo|la lampe de lecture|le moulin à café|la machine à coudre|la table à manger|le tourne-disque|"
        "la nappe de pique-nique|l'aquarium|la planche à repasser|le tuyau d'arrosage|le sac à dos|l'aspirateur|les jumelles".split("|"),
        "place": "au grenier|dans le placard du couloir|derrière le canapé|sur l'étagère du haut|à la maison de campagne|à la buanderie|"
        "près du tableau électrique|dans le coffre de la voiture|dans le tiroir de gauche|à côté de la porte du fond".split("|"),
        "day": "lundi|mardi dernier|le 4 mai|au début du printemps|à Pâques|le deuxième week-end de juin|en novembre|au Nouvel An".split("|"),
        "shop": "au marché|à la quincaillerie|à la brocante|au dépôt-vente|à la boulangerie du coin|sur internet".split("|"),
        "food": "gâteau aux carottes|soupe de lentilles|risotto aux champignons|confiture de prunes|pain au levain|tourte au poisson|salade de pois|clafoutis".split("|"),
    },
}
PATTERNS = {
    "en": [
        "{who} left {thing} {place}", "{thing} was bought at {shop} {day}", "{who} broke {thing} {day} and was sorry about it",
        "{food} is what {who} cooks when friends come", "{thing} needs a new cable, ask at {shop}", "{who} wants to learn to make {food}",
        "We visited {who} {day} and it rained all the time", "{who} thinks {thing} should stay {place}",
        "{day} the whole family ate {food} outside", "{who} sold {thing} to a colleague {day}",
        "There are {n} jars of {food} {place}", "{who} starts a new job {day}", "{thing} cost {n} pounds and is worth every penny",
        "{who} said {food} tastes better on the next day", "The photos of {day} are {place}", "{who} took {n} photos of {thing}",
        "Never put {thing} {place} when it is wet", "{who} and {who2} had a quarrel about {thing} {day}",
    ],
    "de": [
        "{who} hat {place} aufgeräumt, {thing} ist jetzt woanders", "{thing} stammt aus einem Kauf {shop}, {day}",
        "{who} mag {food} mehr als alles andere", "{day} gab es {food} für alle", "{thing} braucht ein neues Kabel",
        "{who} möchte {food} selber machen können", "{who} war {day} auf Besuch und hat Blumen mitgebracht",
        "{thing} soll {place} bleiben, findet {who}", "{who} hat {n} Fotos von der Feier {day}", "{food} hält sich {n} Tage",
        "{day} fängt {who} in der neuen Firma an", "{place} stehen noch {n} Gläser", "{thing} hat {n} Euro gekostet",
        "{who} und {who2} haben sich {day} gestritten", "{who} sucht schon lange einen guten Ort für Bilder {place}",
        "{food} schmeckt am nächsten Tag besser, meint {who}", "{who} hat sich {shop} verkauft und lacht noch heute darüber",
    ],
    "es": [
        "{who} dejó una caja {place}", "{thing} se compró {shop} {day}", "A {who} le encanta el {food}", "{day} comimos {food} en el jardín",
        "{thing} necesita un cable nuevo", "{who} quiere aprender a hacer {food}", "{who} vino {day} y trajo flores",
        "{who} cree que {thing} está mejor {place}", "{who} hizo {n} fotos {day}", "Quedan {n} botes {place}",
        "{who} empieza en otro trabajo {day}", "{thing} costó {n} euros", "{who} y {who2} discutieron {day} por una tontería",
        "El {food} está más rico al día siguiente, dice {who}", "{who} perdió un guante {shop}", "No hay sitio para más cajas {place}",
        "{who} vendió {thing} a un compañero",
    ],
    "fr": [
        "{who} a laissé un carton {place}", "{thing} a été trouvé {shop} {day}", "{who} adore le plat du dimanche : {food}",
        "{day} nous avons mangé dehors : {food}", "{thing} a besoin d'un nouveau câble", "{who} veut apprendre une recette : {food}",
        "{who} est venu {day} avec des fleurs", "{who} pense que {thing} est mieux {place}", "{who} a pris {n} photos {day}",
        "Il reste {n} bocaux {place}", "{who} commence un nouveau travail {day}", "{thing} a coûté {n} euros",
        "{who} et {who2} se sont disputés {day} pour rien", "{food} : meilleur le lendemain, dit {who}", "{who} a perdu un gant {shop}",
        "Plus de place pour des cartons {place}", "{who} a vendu {thing} à un collègue",
    ],
}


def main():
    lines = []
    for language, patterns in PATTERNS.items():
        slots, made = SLOTS[language], set()
        while len(made) < 175:
            pattern = patterns[len(made) % len(patterns)]
            chosen = {name: DICE.choice(values) for name, values in slots.items()}
            chosen["who2"] = DICE.choice([who for who in slots["who"] if who != chosen["who"]])
            text = pattern.format(n=DICE.randint(2, 90), **chosen)
            made.add(text[0].upper() + text[1:])
        lines += [f"{language} {text}" for text in sorted(made)]
    Path(__file__).with_name("others.txt").write_text("\n".join(lines) + "\n")


main()
