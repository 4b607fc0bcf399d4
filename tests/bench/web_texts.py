"""The main texts of our own pages, as HTML without what stands around them: fifteen kinds in six languages."""

NEWS = """<h1>Harbour town votes for an electric ferry</h1>
<p class="byline">By Ida Marsh, 12 May 2026</p>
<p>After three evenings of debate the council of Lower Quay decided on Tuesday to replace the diesel ferry with an electric one.
The vote was closer than anybody had expected: eleven members were in favour, nine against, and one stayed at home with a cold.</p>
<p>“We have talked about this since I was a deckhand,” said harbour master Olu Bright after the meeting. “Now we have to build the
pier that can charge it, and that is the expensive part.” The pier alone is to cost 2.4 million, of which the county pays half.</p>
<figure><img src="/img/pier.jpg" alt="The old pier at low tide"><figcaption>The old pier was built in 1961.</figcaption></figure>
<p>Opponents fear that the crossing will become slower. An expert from the university calmed them: with the new hull the boat needs
nineteen minutes instead of twenty, and in winter it can break thin ice. The first passengers may board in the spring of 2028.</p>
<h2>What happens to the old boat</h2>
<p>The diesel ferry will stay as a reserve for two more years. After that a school of navigation wants to have it, provided that
somebody removes the <a href="/asbestos">asbestos</a> from the engine room, which is one more bill that nobody has signed yet.</p>"""

NEWS_DE = """<h1>Stadtrat beschließt neue Radbrücke über die Ach</h1>
<p>Nach jahrelangem Streit hat der Stadtrat am Donnerstagabend den Bau einer Brücke für Fußgänger und Radfahrer beschlossen. Sie soll
den Bahnhof mit dem Schulzentrum verbinden und kostet nach heutigem Stand 6,8 Millionen Euro.</p>
<p>Bürgermeisterin Renate Höß sprach von einem „überfälligen Schritt“. Täglich müssten rund achthundert Kinder einen Umweg von
anderthalb Kilometern fahren, davon sechshundert Meter entlang der Bundesstraße, auf der es im vergangenen Jahr vier Unfälle gab.</p>
<blockquote><p>Wer einmal mit dem Lastenrad neben einem Vierzigtonner stand, weiß, wovon wir reden.</p></blockquote>
<p>Kritik kam von den Anliegern der Mühlgasse. Sie fürchten um die alten Erlen am Ufer und haben angekündigt, gegen die Genehmigung zu
klagen. Das Gutachten empfiehlt, für jeden gefällten Baum drei neue zu pflanzen und die Bauzeit außerhalb der Brutzeit zu legen.</p>
<p>Mit den Arbeiten soll im Herbst begonnen werden. Wenn das Wetter mitspielt, kann die Brücke im Sommer darauf eröffnet werden; bis
dahin fährt zwischen sieben und acht Uhr ein zusätzlicher Bus.</p>"""

RECIPE = """<h1>Lentil soup with lemon and cumin</h1>
<p>This is the soup we cook when it rains for a week. It needs one pot, half an hour, and nothing that is not in the cupboard already.
It tastes better on the second day, and it can be frozen for three months.</p>
<h2>Ingredients</h2>
<ul><li>300 g red lentils</li><li>1 large onion, chopped</li><li>2 carrots, diced</li><li>3 cloves of garlic</li>
<li>2 teaspoons of ground cumin</li><li>1.2 litres of vegetable stock</li><li>1 lemon</li><li>Salt, pepper and olive oil</li></ul>
<h2>Method</h2>
<ol><li>Heat two spoons of oil in a heavy pot, and let the onion and the carrots sweat in it for eight minutes without browning.</li>
<li>Add the garlic and the cumin, and stir until it smells good, which takes less than a minute.</li>
<li>Add the lentils and the stock, bring everything to the boil, and let it simmer for twenty minutes with the lid on.</li>
<li>Purée half of it, stir it back in, and season with the juice of the lemon, salt and pepper.</li></ol>
<p>Serve it with bread and a spoon of yoghurt. For children leave out half of the cumin; for guests add roasted almonds.</p>
<table><tr><th>Per portion</th><th>Amount</th></tr><tr><td>Energy</td><td>340 kcal</td></tr><tr><td>Protein</td><td>19 g</td></tr>
<tr><td>Fibre</td><td>12 g</td></tr></table>"""

RECIPE_DE = """<h1>Kartoffelgulasch wie bei Oma</h1>
<p>Ein gutes Kartoffelgulasch braucht Zeit, viel Zwiebel und süßes Paprikapulver, das nicht älter als ein Jahr ist. Wer mag, gibt am
Ende noch ein Paar Debreziner hinein, aber nötig ist es nicht.</p>
<h2>Zutaten für vier Personen</h2>
<ul><li>1 kg festkochende Kartoffeln</li><li>400 g Zwiebeln</li><li>3 EL edelsüßes Paprikapulver</li><li>1 EL Majoran</li>
<li>1 TL Kümmel, gemahlen</li><li>2 EL Schmalz oder Öl</li><li>700 ml Rindsuppe</li><li>1 Schuss Essig</li></ul>
<h2>Zubereitung</h2>
<p>Die Zwiebeln fein schneiden und im Schmalz goldgelb rösten, das dauert mindestens eine Viertelstunde. Das Paprikapulver einrühren,
sofort mit Essig ablöschen, damit es nicht bitter wird, und mit der Suppe aufgießen.</p>
<p>Die Kartoffeln schälen, in große Stücke schneiden und mit Majoran und Kümmel dazugeben. Bei kleiner Hitze etwa fünfundzwanzig Minuten
köcheln lassen, bis die Kartoffeln weich sind und der Saft von selbst sämig wird. Vor dem Servieren zehn Minuten ziehen lassen.</p>"""

DOCS = """<h1>Reading a file line by line</h1>
<p>The function <code>read_lines</code> opens a file and returns an iterator over its lines. It never loads the whole file, so its memory
does not depend on the size of the file. Line ends are removed, whether they are those of Unix or of Windows.</p>
<h2>Signature</h2>
<pre><code class="language-python">def read_lines(path: str, encoding: str = "utf-8") -&gt; Iterator[str]:
    ...</code></pre>
<h2>Parameters</h2>
<table><thead><tr><th>Name</th><th>Type</th><th>Meaning</th></tr></thead><tbody>
<tr><td>path</td><td>str</td><td>The file to read; relative paths begin in the working directory.</td></tr>
<tr><td>encoding</td><td>str</td><td>The encoding of the text. Bytes that do not fit raise an error.</td></tr></tbody></table>
<h2>Example</h2>
<pre><code class="language-python">for number, line in enumerate(read_lines("log.txt"), 1):
    if "error" in line:
        print(number, line)</code></pre>
<h2>Errors</h2>
<p>If the file does not exist, <code>FileNotFoundError</code> is raised when the first line is asked for, and not before. If it is
changed while it is read, the result is unspecified but no error. See also <a href="write_lines.html">write_lines</a>.</p>"""

DOCS_DE = """<h1>Sicherungen einrichten</h1>
<p>Eine Sicherung enthält alle Daten außer den Zugangstoken. Sie wird jede Nacht um drei Uhr geschrieben, wenn ein Ziel eingetragen ist
und das Gerät zu dieser Zeit läuft. War es ausgeschaltet, wird sie beim nächsten Start nachgeholt.</p>
<h2>Ziel eintragen</h2>
<ol><li>Stecken Sie einen USB-Stick mit mindestens acht Gigabyte ein und warten Sie, bis er unter „Speicher“ erscheint.</li>
<li>Öffnen Sie „Gerät“ und dann „Sicherung“.</li><li>Wählen Sie den Stick und eine Passphrase mit zwölf Zeichen oder mehr.</li></ol>
<p><strong>Achtung:</strong> Ohne die Passphrase lässt sich die Sicherung nicht öffnen, auch nicht vom Hersteller. Schreiben Sie sie auf
Papier und bewahren Sie es an einem anderen Ort auf als den Stick.</p>
<h2>Wiederherstellen</h2>
<p>Beim Wiederherstellen werden die vorhandenen Daten beiseitegelegt und erst nach drei erfolgreichen Starts gelöscht. Der Vorgang dauert
je Gigabyte etwa zwei Minuten. Auf der Kommandozeile genügt:</p>
<pre>hob restore /media/stick/hob-2026-05-12.bak</pre>"""

FORUM = """<h1>Heat pump makes a clicking noise at night</h1>
<div class="post"><div class="author">wren42</div><div class="text"><p>Since the first frost our heat pump clicks every four minutes
between midnight and five. During the day it is silent. The installer says that this is normal, but nobody in our street hears anything
like it. Does anybody know what it could be?</p></div></div>
<div class="post"><div class="author">pipefitter</div><div class="text"><p>Sounds like the four-way valve. At night it defrosts more often,
because the coil is colder. Count the seconds between the click and the fan: more than ninety means that the valve sticks.</p></div></div>
<div class="post"><div class="author">wren42</div><div class="text"><blockquote><p>Count the seconds between the click and the fan</p>
</blockquote><p>It was a hundred and ten, three times in a row. I have written to the installer again, with a recording this time.</p></div></div>
<div class="post"><div class="author">mossgarden</div><div class="text"><p>Ours did the same. They replaced the coil of the valve under
warranty, which took twenty minutes, and the noise was gone. Do not let them sell you a new board first.</p></div></div>
<div class="post"><div class="author">wren42</div><div class="text"><p>Solved: it was the coil. Thank you all, we sleep again.</p></div></div>"""

FORUM_FR = """<h1>Comment hiverner un citronnier en pot ?</h1>
<div class="message"><b>Lucile</b><p>Bonjour à tous, j'ai un citronnier de six ans sur mon balcon, plein nord. L'hiver dernier il a
perdu toutes ses feuilles dans le salon. Faut-il le laisser dehors avec un voile, ou le rentrer dans la cage d'escalier ?</p></div>
<div class="message"><b>Armand</b><p>Le salon est trop chaud et trop sec. La cage d'escalier est idéale si elle reste entre cinq et
douze degrés et qu'il y a une fenêtre. Arrose très peu, une fois toutes les trois semaines suffit.</p></div>
<div class="message"><b>Inès</b><p>Je confirme. Pense aussi à vérifier les cochenilles avant de le rentrer : un coton-tige avec de
l'alcool, feuille par feuille. C'est long, mais sinon elles se multiplient tout l'hiver.</p></div>
<div class="message"><b>Lucile</b><p>Merci beaucoup, je le descends demain. Je vous dirai au printemps s'il a survécu.</p></div>"""

SHOP = """<h1>Folding workbench “Kestrel”, beech</h1>
<p class="price">149.00 €, delivery in three days</p>
<p>The Kestrel is a full-size workbench that folds flat against the wall in ten seconds. The top is solid beech, thirty millimetres
thick, and carries two hundred kilograms. Rubber feet keep it from wandering on concrete, and nothing rattles in the boot of a car.</p>
<ul><li>Top 120 by 60 centimetres, height 86 centimetres</li><li>Two vices with jaws of 15 centimetres</li>
<li>Weight 14.5 kilograms</li><li>Screws and a wall bracket are included</li></ul>
<h2>Technical data</h2>
<table><tr><th>Material</th><td>Beech, oiled; steel, powder-coated</td></tr><tr><th>Load</th><td>200 kg</td></tr>
<tr><th>Folded</th><td>120 × 86 × 9 cm</td></tr><tr><th>Guarantee</th><td>5 years</td></tr><tr><th>Origin</th><td>Estonia</td></tr></table>
<h2>What customers say</h2>
<p>“I have had mine for two years and planed four doors on it. The only thing I miss is a drawer.” Five stars from Tilda.</p>
<p>“Good bench, poor instructions: steps six and seven are the wrong way round.” Four stars from Marek.</p>"""

SHOP_ES = """<h1>Cafetera italiana de seis tazas, acero inoxidable</h1>
<p>Precio: 34,90 €. Envío gratuito a partir de 40 €.</p>
<p>Una cafetera para toda la vida: cuerpo de acero inoxidable de dos milímetros, asa que no se calienta y junta de silicona que dura
cinco años. Funciona en gas, vitrocerámica e inducción, y se limpia solo con agua.</p>
<ul><li>Capacidad: 300 mililitros, seis tazas pequeñas</li><li>Altura: 21 centímetros</li><li>Peso: 780 gramos</li>
<li>Incluye un filtro reductor para tres tazas</li></ul>
<h2>Consejos de uso</h2>
<p>Llene el depósito hasta la válvula, no presione el café y ponga el fuego bajo. Cuando empiece a sonar, retírela enseguida: el café
que sale al final es amargo. No la meta nunca en el lavavajillas.</p>"""

TABLES = """<h1>Summer timetable of the lake ferry</h1>
<p>Valid from 1 May to 30 September 2026. Bicycles travel free of charge outside the hours marked with a star.</p>
<h2>Weekdays</h2>
<table><thead><tr><th>Lower Quay</th><th>Island</th><th>Upper Quay</th><th>Notes</th></tr></thead><tbody>
<tr><td>06:10</td><td>06:24</td><td>06:40</td><td>school days only</td></tr><tr><td>07:30</td><td>07:44</td><td>08:00</td><td>*</td></tr>
<tr><td>09:00</td><td>09:14</td><td>09:30</td><td></td></tr><tr><td>12:00</td><td>12:14</td><td>12:30</td><td>with lunch</td></tr>
<tr><td>15:20</td><td>15:34</td><td>15:50</td><td></td></tr><tr><td>17:45</td><td>17:59</td><td>18:15</td><td>*</td></tr></tbody></table>
<h2>Weekends and holidays</h2>
<table><tr><th>Lower Quay</th><th>Island</th><th>Upper Quay</th></tr><tr><td>08:00</td><td>08:14</td><td>08:30</td></tr>
<tr><td>10:30</td><td>10:44</td><td>11:00</td></tr><tr><td>13:00</td><td>13:14</td><td>13:30</td></tr>
<tr><td>16:00</td><td>16:14</td><td>16:30</td></tr></table>
<h2>Fares</h2>
<table><tr><th>Ticket</th><th>Single</th><th>Return</th></tr><tr><td>Adult</td><td>4.20</td><td>7.00</td></tr>
<tr><td>Child</td><td>2.10</td><td>3.50</td></tr><tr><td>Family</td><td>9.80</td><td>16.00</td></tr></table>
<p>In fog the boat waits; in a storm it stays in the harbour, and the bus replaces it from the church.</p>"""

JAPANESE = """<h1>港町の小さな時計店</h1>
<p>駅から坂を下りて五分ほど歩くと、古い倉庫の並びに小さな時計店がある。看板の文字は潮風で薄れ、初めて訪れる人はたいてい一度通り過ぎてしまう。</p>
<p>店主の村井さんは今年で八十一歳になる。十五歳で父の店に入り、それから六十六年のあいだ、この町の人々の時計を直し続けてきた。「急がないことが一番大事です」と村井さんは言う。</p>
<h2>漁師の腕時計</h2>
<p>修理台の引き出しには、漁師たちが預けたままの腕時計がいくつも眠っている。塩で固まった歯車を一つずつ外し、油で洗い、また組み立てる。部品がなければ自分で削って作る。</p>
<p>最近は若い人も訪れるようになった。祖父の形見を直してほしいという依頼が増えているという。村井さんは来年の春に店を閉める予定だったが、もう少し続けることにした。</p>"""

ARABIC = """<h1>سوق الكتب القديمة على ضفة النهر</h1>
<p>كل يوم جمعة، قبل شروق الشمس بقليل، يفرش باعة الكتب بضاعتهم على الرصيف المحاذي للنهر. بعضهم يأتي من قرى بعيدة على عربة يجرها حمار، وبعضهم يسكن في الزقاق المجاور منذ ثلاثين عاماً.</p>
<p>يقول أبو سالم، وهو أقدمهم، إن أفضل الزبائن هم الطلاب: «لا يملكون المال، لكنهم يقرؤون الكتاب واقفين ثم يعودون في الأسبوع التالي ليكملوه». وهو لا يمانع في ذلك أبداً.</p>
<h2>كتاب لا يباع</h2>
<p>في صندوق خشبي صغير يحتفظ أبو سالم بديوان شعر طُبع عام ١٩٢٣. عرض عليه أحد التجار مبلغاً كبيراً فرفض، لأن في هوامشه ملاحظات بخط والده. ويقول إن الكتاب سيذهب إلى مكتبة المدينة بعد وفاته.</p>"""

BLOG = """<h1>A year without a car: what it really cost us</h1>
<p>Last spring our old estate car failed its inspection, and instead of repairing it we sold it for parts. We promised each other to try a
year without. Here are the figures, because everybody asks, and because I was wrong about most of them beforehand.</p>
<p>The car had cost us 4,310 a year: insurance, tax, fuel, tyres and two repairs. In the year without we spent 1,180 on trains, 640 on
rental cars for three holidays, 390 on a trailer for the bicycle, and 75 on taxis, two of which were at four in the morning.</p>
<h2>What was easy</h2>
<p>Shopping. With the trailer we buy less each time and throw less away. The way to school takes eleven minutes by bicycle and took
fourteen by car, if one counts the search for a place to stop.</p>
<h2>What was hard</h2>
<p>My father lives in a village where the last bus leaves at ten past six. We saw him less often, and that is the one thing that I would
not do again. From this summer on we share a car with the neighbours, for exactly that.</p>"""

WIKI = """<h1>Norwood lighthouse</h1>
<p>The <b>Norwood lighthouse</b> is a lighthouse on the northern cape of the island of Sund. It was built between 1868 and 1871 after
the loss of the barque <i>Amelia</i>, and has been unmanned since 1984.<sup><a href="#n1">[1]</a></sup></p>
<table class="infobox"><tr><th>Height</th><td>31 metres</td></tr><tr><th>Range</th><td>18 nautical miles</td></tr>
<tr><th>Light</th><td>white flash every 15 seconds</td></tr></table>
<h2>History</h2>
<p>The first design, by the engineer <a href="/wiki/Clara_Voss">Clara Voss</a>, had a tower of iron. The authority chose brick
instead, which had to be brought over the lake on flat boats, two hundred at a time, in the summers of 1868 and 1869.</p>
<p>In the storm of 1902 a wave broke two panes of the lantern, forty metres above the sea. The keeper, Anders Holm, kept the light
burning with the door of a cupboard in place of the glass, and was given a silver watch for it.</p>
<h2>Present use</h2>
<p>The tower is open to visitors from June to August. The house of the keeper has served as a weather station since 1991, and its
readings are published every hour.</p>"""

TEXTS = {
    "news": ("en", NEWS), "news-de": ("de", NEWS_DE), "recipe": ("en", RECIPE), "recipe-de": ("de", RECIPE_DE), "docs": ("en", DOCS),
    "docs-de": ("de", DOCS_DE), "forum": ("en", FORUM), "forum-fr": ("fr", FORUM_FR), "shop": ("en", SHOP), "shop-es": ("es", SHOP_ES),
    "tables": ("en", TABLES), "japanese": ("ja", JAPANESE), "arabic": ("ar", ARABIC), "blog": ("en", BLOG), "wiki": ("en", WIKI),
}
