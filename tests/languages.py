"""A paragraph in each of many languages, with the single-byte encodings in which such texts are found."""

from __future__ import annotations

WESTERN = {
    "german": "Die Straßenbeleuchtung vor unserem Haus ist seit drei Wochen defekt, und bisher hat sich niemand darum gekümmert. Könnten Sie bitte "
    "prüfen, wann die Reparatur ausgeführt wird? Außerdem wäre es schön, wenn die Bürger über größere Verzögerungen früher informiert würden. "
    "Mit freundlichen Grüßen, Jürgen Müller aus Köln",
    "french": "L'éclairage public devant notre maison est en panne depuis trois semaines et personne ne s'en est occupé jusqu'à présent. "
    "Pourriez-vous vérifier à quelle date la réparation sera effectuée ? Il serait également agréable que les habitants reçoivent plus tôt des "
    "informations sur les délais. Où faut-il s'adresser ? Ça dépend, là-bas, du maître d'œuvre.",
    "spanish": "La farola que está delante de nuestra casa lleva tres semanas averiada y todavía nadie se ha ocupado de ella. ¿Podrían comprobar "
    "cuándo se hará la reparación? También sería útil que los vecinos recibieran información más rápida. Mañana por la mañana los niños "
    "volverán de la montaña; según mi compañera, el señor Núñez llegó ayer.",
    "portuguese": "A iluminação pública em frente à nossa casa está avariada há três semanas e até agora ninguém tratou do assunto. Poderiam "
    "verificar quando a reparação será feita? Também seria útil que os cidadãos recebessem informações mais cedo. Não sabemos se as questões são "
    "da câmara ou da região; amanhã a situação já não será a mesma, esperamos nós.",
    "italian": "Il lampione davanti alla nostra casa è guasto da tre settimane e finora nessuno se n'è occupato. Potreste verificare perché la "
    "riparazione non è ancora stata fatta? Sarebbe utile che i cittadini ricevessero più informazioni. Così com'è, la città non può andare "
    "avanti: c'è già chi dice che sarà peggio, e forse è la verità.",
    "dutch": "De straatverlichting voor ons huis is al drie weken kapot en tot nu toe heeft niemand er iets aan gedaan. Kunt u nagaan wanneer de "
    "reparatie wordt uitgevoerd? De coördinatie tussen de diensten in België en de zeeën is een probleem. Eén keer is geen keer, zei de "
    "financiële adviseur uit Indonesië; dat idee heeft hij geërfd.",
    "swedish": "Gatubelysningen utanför vårt hus har varit trasig i tre veckor och ingen har åtgärdat felet ännu. Kan ni kontrollera när "
    "reparationen ska göras? Det vore också bra om de boende fick information tidigare. På måndag åker vi till Göteborg för att hälsa på våra "
    "föräldrar, så då är ingen hemma.",
    "danish": "Gadebelysningen uden for vores hus har været i stykker i tre uger, og ingen har gjort noget ved det endnu. Kan I undersøge, hvornår "
    "reparationen bliver udført? Det ville også være godt, hvis beboerne fik besked før. På mandag tager vi til Århus for at besøge vores "
    "forældre, så der er ingen hjemme på øen.",
    "norwegian": "Gatelyset utenfor huset vårt har vært ødelagt i tre uker, og ingen har gjort noe med det ennå. Kan dere undersøke når det blir "
    "reparert? Det ville også være fint om beboerne fikk beskjed tidligere. På lørdag reiser vi til Tromsø for å besøke foreldrene våre, så da "
    "er det ingen hjemme.",
    "icelandic": "Götulýsingin fyrir utan húsið okkar hefur verið biluð í þrjár vikur og enginn hefur gert neitt í því ennþá. Gætuð þið athugað "
    "hvenær viðgerðin fer fram? Það væri líka gott ef íbúarnir fengju upplýsingar fyrr. Á mánudaginn förum við til Akureyrar að heimsækja ömmu og "
    "afa, svo þá verður enginn heima.",
    "finnish": "Katuvalo talomme edessä on ollut rikki kolme viikkoa, eikä kukaan ole vielä tehnyt asialle mitään. Voisitteko tarkistaa, milloin "
    "korjaus tehdään? Olisi myös hyvä, että asukkaat saisivat tietoa aikaisemmin. Maanantaina lähdemme Jyväskylään käymään isovanhempien luona, "
    "joten silloin kukaan ei ole kotona.",
    "catalan": "El fanal que hi ha davant de casa nostra fa tres setmanes que està espatllat i ningú no se n'ha ocupat fins ara. Podríeu comprovar "
    "quan es farà la reparació? També aniria bé que els veïns rebessin informació més aviat. Això és així perquè l'administració és lenta; demà "
    "passat anirem a València amb el germà de la Núria.",
    "estonian": "Tänavavalgustus meie maja ees on olnud kolm nädalat rikkis ja keegi pole sellega veel tegelenud. Kas saaksite kontrollida, millal "
    "remont tehakse? Oleks ka hea, kui elanikud saaksid teavet varem. Esmaspäeval sõidame Tartusse vanaemale külla, nii et siis pole kedagi "
    "kodus. Õhtul jõuame tagasi.",
    "irish": "Tá an solas sráide taobh amuigh dár dteach briste le trí seachtaine agus níl aon rud déanta ag aon duine faoi fós. An bhféadfá a "
    "fháil amach cathain a dhéanfar é a dheisiú? Bheadh sé go maith freisin dá bhfaigheadh na cónaitheoirí eolas níos luaithe.",
}
"""Languages that Windows-1252 can write."""

OTHERS = {
    "turkish": "Evimizin önündeki sokak lambası üç haftadır arızalı ve bugüne kadar kimse ilgilenmedi. Onarımın ne zaman yapılacağını kontrol "
    "edebilir misiniz? Ayrıca mahalle sakinlerinin daha erken bilgilendirilmesi iyi olurdu. Pazartesi günü İstanbul'a büyükannemizi ziyarete "
    "gideceğiz, bu yüzden evde kimse olmayacak. Teşekkür ederim, saygılarımla.",
    "polish": "Latarnia uliczna przed naszym domem jest zepsuta od trzech tygodni i jak dotąd nikt się tym nie zajął. Czy mogliby Państwo "
    "sprawdzić, kiedy zostanie przeprowadzona naprawa? Dobrze byłoby też, gdyby mieszkańcy byli wcześniej informowani. W poniedziałek jedziemy "
    "do Łodzi odwiedzić babcię, więc nikogo nie będzie w domu. Dziękuję, życzę miłego dnia.",
    "czech": "Pouliční osvětlení před naším domem nefunguje už tři týdny a zatím se tím nikdo nezabýval. Mohli byste prosím zjistit, kdy bude "
    "oprava provedena? Bylo by také dobré, kdyby obyvatelé dostávali informace dříve. V pondělí jedeme do Plzně navštívit babičku, takže doma "
    "nikdo nebude. Děkuji, přeji hezký den, Jiří Novák.",
    "slovak": "Pouličné osvetlenie pred naším domom nefunguje už tri týždne a zatiaľ sa tým nikto nezaoberal. Mohli by ste prosím zistiť, kedy bude "
    "oprava vykonaná? Bolo by tiež dobré, keby obyvatelia dostávali informácie skôr. V pondelok ideme do Košíc navštíviť babičku, takže doma "
    "nikto nebude. Ďakujem, želám pekný deň.",
    "hungarian": "A házunk előtti utcai lámpa három hete nem működik, és eddig senki sem foglalkozott vele. Meg tudnák nézni, mikor történik meg a "
    "javítás? Az is jó lenne, ha a lakók korábban kapnának tájékoztatást. Hétfőn Győrbe utazunk a nagymamához, ezért senki sem lesz otthon. "
    "Köszönöm, üdvözlettel, az előző bejelentő.",
    "croatian": "Ulična rasvjeta ispred naše kuće ne radi već tri tjedna i do sada se nitko nije time bavio. Možete li provjeriti kada će popravak "
    "biti izvršen? Bilo bi također dobro kada bi stanovnici ranije dobivali obavijesti. U ponedjeljak putujemo u Čakovec posjetiti djeda, pa "
    "nikoga neće biti kod kuće. Hvala, želim vam ugodan dan, Đurđica Šarić.",
    "romanian": "Iluminatul public din faţa casei noastre este defect de trei săptămâni şi până acum nimeni nu s-a ocupat de el. Aţi putea verifica "
    "când va fi făcută reparaţia? Ar fi bine şi ca locuitorii să primească informaţii mai devreme. Luni mergem la Iaşi să o vizităm pe bunica, "
    "aşa că nu va fi nimeni acasă. Vă mulţumesc.",
    "russian": "Уличный фонарь перед нашим домом не работает уже три недели, и до сих пор никто этим не занимался. Не могли бы вы узнать, когда "
    "будет проведён ремонт? Было бы также хорошо, если бы жители получали сведения раньше. В понедельник мы едем к бабушке, так что дома никого "
    "не будет. Большое спасибо, с уважением.",
    "ukrainian": "Вуличний ліхтар перед нашим будинком не працює вже три тижні, і досі ніхто цим не займався. Чи не могли б ви дізнатися, коли "
    "буде проведено ремонт? Було б також добре, якби мешканці отримували інформацію раніше. У понеділок ми їдемо до бабусі, тож удома нікого "
    "не буде. Щиро дякую, з повагою, Євген Їжак.",
    "bulgarian": "Уличната лампа пред нашата къща не работи вече три седмици и досега никой не се е занимавал с това. Бихте ли проверили кога ще "
    "бъде извършен ремонтът? Би било добре също жителите да получават информация по-рано. В понеделник пътуваме до Пловдив при баба, така че "
    "вкъщи няма да има никого. Благодаря ви.",
    "greek": "Ο φανοστάτης μπροστά στο σπίτι μας είναι χαλασμένος εδώ και τρεις εβδομάδες και μέχρι τώρα κανείς δεν ασχολήθηκε. Μπορείτε να "
    "ελέγξετε πότε θα γίνει η επισκευή; Θα ήταν επίσης καλό οι κάτοικοι να ενημερώνονται νωρίτερα. Τη Δευτέρα πηγαίνουμε στην Άρτα στη γιαγιά, "
    "οπότε δεν θα είναι κανείς στο σπίτι. Ευχαριστώ πολύ.",
    "lithuanian": "Gatvės žibintas priešais mūsų namą neveikia jau tris savaites ir iki šiol niekas tuo nepasirūpino. Ar galėtumėte patikrinti, "
    "kada bus atliktas remontas? Taip pat būtų gerai, jei gyventojai informaciją gautų anksčiau. Pirmadienį važiuojame į Šiaulius aplankyti "
    "močiutės, todėl namuose nieko nebus. Ačiū, linkiu gražios dienos.",
    "latvian": "Ielas apgaismojums mūsu mājas priekšā nedarbojas jau trīs nedēļas, un līdz šim neviens ar to nav nodarbojies. Vai jūs varētu "
    "pārbaudīt, kad tiks veikts remonts? Būtu arī labi, ja iedzīvotāji saņemtu informāciju agrāk. Pirmdien braucam uz Rēzekni ciemos pie "
    "vecmāmiņas, tāpēc mājās neviena nebūs. Paldies, ceru uz drīzu atbildi.",
    "hebrew": "פנס הרחוב מול הבית שלנו לא עובד כבר שלושה שבועות, ועד עכשיו אף אחד לא טיפל בזה. האם תוכלו לבדוק מתי יבוצע התיקון? היה טוב גם אם "
    "התושבים היו מקבלים מידע מוקדם יותר. ביום שני אנחנו נוסעים לסבתא, ולכן לא יהיה אף אחד בבית. תודה רבה.",
    "arabic": "مصباح الشارع أمام بيتنا معطل منذ ثلاثة أسابيع، ولم يهتم به أحد حتى الآن. هل يمكنكم معرفة متى سيتم الإصلاح؟ سيكون من الجيد أيضا "
    "أن يحصل السكان على المعلومات في وقت أبكر. سنسافر يوم الاثنين إلى جدتنا، ولذلك لن يكون أحد في البيت. شكرا جزيلا.",
    "japanese": "家の前の街灯が三週間前から消えたままで、まだ誰も直してくれません。いつ修理されるのか調べていただけますか。住民にもっと早く知らせて"
    "いただけるとありがたいです。月曜日は祖母のところへ行くので、家には誰もいません。よろしくお願いします。",
    "korean": "우리 집 앞 가로등이 삼 주 전부터 고장 나 있는데 아직 아무도 고치지 않았습니다. 언제 수리가 되는지 확인해 주실 수 있습니까? 주민들에게 더 "
    "일찍 알려 주시면 좋겠습니다. 월요일에는 할머니 댁에 가기 때문에 집에 아무도 없을 것입니다. 감사합니다.",
    "chinese": "我们家门前的路灯已经坏了三个星期，到现在还没有人来修。请问你们能不能查一下什么时候会修好？如果能早一点通知居民就好了。星期一我们要去奶奶家，"
    "所以家里没有人。谢谢你们的帮助。",
}
"""Languages that Windows-1252 cannot write."""

ENCODINGS = {
    "turkish": ("windows-1254", "iso-8859-9"),
    "polish": ("windows-1250", "iso-8859-2"),
    "czech": ("windows-1250", "iso-8859-2"),
    "slovak": ("windows-1250", "iso-8859-2"),
    "hungarian": ("windows-1250", "iso-8859-2"),
    "croatian": ("windows-1250", "iso-8859-2"),
    "romanian": ("windows-1250", "iso-8859-2"),
    "russian": ("windows-1251", "koi8-r", "iso-8859-5", "cp866"),
    "ukrainian": ("windows-1251", "koi8-u"),
    "bulgarian": ("windows-1251",),
    "greek": ("windows-1253", "iso-8859-7"),
    "lithuanian": ("windows-1257",),
    "latvian": ("windows-1257",),
    "hebrew": ("windows-1255",),
    "arabic": ("windows-1256",),
    "japanese": ("shift_jis", "euc_jp"),
    "korean": ("cp949",),
    "chinese": ("gb18030",),
}
"""The encodings of `OTHERS`; the first is that of Windows."""
