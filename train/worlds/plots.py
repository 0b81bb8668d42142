"""Story plots as data. In: nothing. Out: beats with alternatives, and the facts that questions ask for."""

# A slot in braces is filled from the world. ' | ' separates alternatives. Every beat is one or two sentences.
# uses: which slots a request may name besides hero and place. want, sad, fix, end: answers to questions.
PLOTS = {
    'lost': dict(uses=['thing'], beats=[
        '{n} had {a_thing}, and {he} loved it very much. | {n} had {a_thing}. It was the best thing {he} had. | '
        'The thing that {n} liked best was {his} {thing}.',
        'Every day {n} played with the {thing} {in_place}. | {n} took the {thing} everywhere. | '
        '{n} took good care of the {thing}.',
        'One day the {thing} was gone. {n} looked here and there, but {he} could not find it. | '
        'But one morning {n} woke up and the {thing} was not there. | One windy day {n} lost the {thing}.',
        '{n} was very sad and began to cry. | {n} felt sad. "Where is my {thing}?" {he} said.',
        '{n} looked under a bush, but there were only leaves. | {n} looked behind a big stone, but there was nothing.',
        'Then {he} met {a_helper}. "Why are you sad?" asked {helper}. "I lost my {thing}," said {n}.',
        '"Let us look together," said {helper}. So they looked again, this time very slowly. | '
        '"I will help you," said {helper}. "Let us go back the way you came."',
        'And there, next to {spot}, was the {thing}! | At last {helper} saw something near {spot}. It was the {thing}!',
        '{n} jumped for joy. "Thank you!" {he} said. | {n} gave {helper} a big hug. "Thank you, my friend!" {he} said.',
        'From that day on, {n} and {helper} were friends, and {he} always put the {thing} in a safe place. | '
        'That night {n} went to bed with the {thing} in {his} arms and a smile on {his} face.'],
        want='{n} wanted to find the {thing}.', sad='{n} was sad because {he} lost the {thing}.',
        fix='{helper} helped {n} to look for it, and they found the {thing} near {spot}.',
        end='{n} found the {thing} and was happy again.', short='{n} lost {his} {thing} and was very sad. '
        '{a_helper} helped {him} to look. They found the {thing} near {spot}, and {n} was happy again.'),
    'fear': dict(uses=['fear'], beats=[
        '{n} was afraid of {fear}. | There was one thing that {n} did not like. {he} was afraid of {fear}.',
        'When {fear_came}, {he} hid under a blanket. | Each time {fear_came}, {n} closed {his} eyes and ran home.',
        'The others laughed, and that made {n} sad. | {n} wanted to be brave, but {he} did not know how.',
        'First {n} tried to sing very loudly, but it did not help. | First {n} tried to count to ten, but {he} was still afraid.',
        'Then {a_helper} came by. "What is wrong?" asked {helper}. | One day {n} told {a_helper} about it.',
        '"I am afraid of {fear}," said {n} in a small voice.',
        '"It is okay to be afraid," said {helper}. "Hold my hand, and we will look together." | '
        '"I was afraid too, when I was small," said {helper}. "Come, I will stay with you."',
        'So they waited side by side until {fear_came}. {n} took a deep breath and did not run. | '
        'Soon {fear_came}. {n} shook a little, but {he} stayed.',
        'Nothing bad happened. "Look, I did it!" said {n}. | After a while {n} began to smile. It was not so bad at all.',
        'From that day on, {n} was not afraid of {fear} any more. | And {n} learned that a friend makes you brave.'],
        want='{n} wanted to be brave.', sad='{n} was sad because {he} was afraid of {fear}.',
        fix='{helper} stayed with {n}, and they looked at it together.', end='{n} was not afraid of {fear} any more.',
        short='{n} was afraid of {fear}. {a_helper} stayed with {him}, and then {he} was brave.'),
    'skill': dict(uses=['skill'], beats=[
        '{n} could not {skill}. | All the others could {skill}, but {n} could not.',
        'That made {n} sad, because {he} wanted to {skill} more than anything. | "I want to {skill} too," said {n} with a sigh.',
        '{n} tried it one morning, but it went wrong and {he} fell over. | {n} tried and tried, but it did not work.',
        '"I will never learn it," {n} said and sat down {in_place}. | {n} wanted to give up.',
        'Then {a_helper} came along. "Do not give up," said {helper}. | {a_helper} saw it and sat down next to {him}.',
        '"I will show you. Start slow, and try a little every day," {helper} said.',
        'So {n} tried a little every day. Day after day it went better. | {n} listened well and tried again, very slowly.',
        'And one sunny morning, {n} could {skill}! | Then, all at once, it worked. {n} could {skill}!',
        'Everyone clapped. {n} was so proud. | "I can do it!" cried {n}. {helper} smiled.',
        '{n} learned that you can do hard things if you try again and again. | After that, {n} helped others to learn it too.'],
        want='{n} wanted to {skill}.', sad='{n} was sad because {he} could not {skill}.',
        fix='{helper} showed {him} how, and {n} tried a little every day.', end='At the end {n} could {skill} and was proud.',
        short='{n} could not {skill}. {a_helper} showed {him} how. {n} tried every day, and at last {he} could {skill}.'),
    'wish': dict(uses=['wish'], beats=[
        '{n} had a strange wish. {he} wanted to be {wish}. | "I wish I were {wish}," said {n} every day.',
        '"{wish_cap} has a much better life than me," {n} thought.',
        'So {n} tried to look like {wish}. {he} put leaves and paper all over {him}self. But the wind blew them away. | '
        'So {n} tried to do all the things that {wish} does. But {he} only got tired.',
        '{n} felt silly and sad. | {n} sat down and was sad.',
        'Then {a_helper} came by. "What are you doing?" asked {helper}. "I want to be {wish}," said {n}.',
        '"But then who would be my friend?" said {helper}. "I like you the way you are." | '
        '"But you are so {trait}," said {helper}. "There is only one like you."',
        '{n} thought about it for a long time. | {n} looked into a puddle and saw {his} own face. It was a nice face.',
        'Then {he} smiled. "Maybe it is good to be me," {n} said.',
        'They played together {in_place} until the sun went down.',
        'And {n} did not want to be {wish} any more. {he} was happy to be {him}self.'],
        want='{n} wanted to be {wish}.', sad='{n} was sad because {he} could not be {wish}.',
        fix='{helper} liked {n} the way {he} was.', end='{n} was happy to be {him}self.',
        short='{n} wanted to be {wish}, but it did not work. {helper_a} said, "I like you the way you are." Then {n} was happy.'),
    'owner': dict(uses=['thing'], beats=[
        'One day {n} went for a walk {in_place}. | One sunny morning, {n} was out {in_place}.',
        'Suddenly {he} saw something near {spot}. It was {a_thing}! | Next to {spot}, {n} found {a_thing}.',
        '"How pretty!" said {n}. {he} wanted to keep the {thing}. | {n} picked up the {thing}. "Now it is mine," {he} said.',
        'But then {n} heard someone cry. It was {a_helper}. | On the way home {n} met {a_helper}, who was crying.',
        '"I lost my {thing}," said {helper}. "I looked for it all day."',
        '{n} held the {thing} behind {his} back. {he} did not know what to do. | {n} looked at the {thing} and felt bad.',
        'Then {n} took a deep breath. "I found it," {he} said. "Here it is."',
        '"Oh, thank you!" said {helper}. The tears were gone. | {helper} smiled from ear to ear. "Thank you! You are so kind."',
        '"You can play with it too," said {helper}. So they played with the {thing} together. | '
        '"Let us share it," said {helper}, and they did.',
        '{n} had no {thing} of {his} own now, but {he} had a new friend. And that was better. | '
        'That day {n} learned that it feels good to give back what is not yours.'],
        want='{n} wanted to keep the {thing}.', sad='{helper} was sad because the {thing} was lost.',
        fix='{n} gave the {thing} back to {helper}.', end='{n} and {helper} played together and were friends.',
        short='{n} found {a_thing}. It belonged to {a_helper}. {n} gave it back, and they became friends.'),
    'share': dict(uses=['thing'], beats=[
        'One day {n} got {a_thing} from {his} grandma. | {n} had {a_thing}. It was a new toy.',
        '{a_helper} came and asked, "Can I play with it too?"',
        '"No!" said {n}. "It is my {thing}. It is only for me." | {n} held the {thing} tight. "No, it is mine," {he} said.',
        '{helper} went away and was sad.',
        '{n} played with the {thing} all alone {in_place}. | So {n} sat alone {in_place} with the {thing}.',
        'But soon it was not fun any more. It was too quiet. | But after a while {n} got bored and lonely.',
        '{n} tried to talk to the {thing}, but the {thing} did not answer.',
        'So {n} went to find {helper}. "I am sorry," {he} said. "Will you play with me?"',
        '"Yes!" said {helper}. They took turns with the {thing} and laughed a lot.',
        'Now {n} knew that a thing is more fun when you share it. | From then on, {n} liked to share.'],
        want='{n} wanted to keep the {thing} for {him}self.', sad='{helper} was sad because {n} did not share the {thing}.',
        fix='{n} said sorry and shared the {thing}.', end='{n} and {helper} played together and had fun.',
        short='{n} had {a_thing} and did not want to share it. But alone it was no fun. So {n} said sorry, and {he} '
        'played with {a_helper}.'),
    'friend': dict(uses=[], beats=[
        '{n} lived all alone and had no friends. | {n} was often alone, and {he} did not like that.',
        '"I wish I had a friend," {n} said. | More than anything, {n} wanted a friend.',
        'So one morning {n} set out to find one. {he} walked and walked.',
        'First {he} met a big black beetle. "Will you be my friend?" asked {n}. "I have no time," said the beetle. | '
        'First {he} asked the stream. "Will you be my friend?" But the stream just ran on.',
        '{n} sat down near {spot} and felt very lonely.',
        'Then {he} heard a small voice. "Help!" It was {a_helper} who was stuck in the mud. | '
        'Then {he} heard somebody cry. It was {a_helper} with a thorn in one foot.',
        '{n} did not wait. {he} ran and helped at once.',
        '"Thank you," said {helper}. "I am all alone here. Do you want to play with me?"',
        '"Yes, I do!" said {n}. They played until the stars came out.',
        'Now {n} was not lonely any more. {he} had a friend. | And {n} learned that a friend is someone you help.'],
        want='{n} wanted to find a friend.', sad='{n} was sad because {he} had no friends.',
        fix='{n} helped {helper}, and they played together.', end='{n} had a friend and was not lonely any more.',
        short='{n} had no friends. One day {he} helped {a_helper}. They played together, and {n} was not lonely any more.'),
    'broken': dict(uses=['thing'], beats=[
        '{n} had {a_thing}. {he} liked it very much.', 'One day the {thing} fell down and broke. Crack!',
        '"Oh no!" cried {n}. "My {thing} is broken!" | {n} looked at the broken {thing}, and a tear ran down {his} face.',
        '{n} tried to mend it with mud, but the mud was too wet. | {n} tried to tie it with grass, but the grass was too weak.',
        'So {n} took the {thing} and went to {a_helper}.', '"Can you help me?" asked {n}. "Let me see," said {helper}.',
        '{helper} had some glue and some string. {n} held the parts, and {helper} put them together.',
        'They worked the whole afternoon. | It took a long time, but they did not stop.',
        'At last the {thing} was whole again. "It is even better than before!" said {n}.',
        '{n} was happy, and {he} baked a cake for {helper} to say thank you. | {n} thanked {helper} and walked home happily.'],
        want='{n} wanted to mend the {thing}.', sad='{n} was sad because the {thing} was broken.',
        fix='{helper} mended the {thing} with glue and string.', end='The {thing} was whole again, and {n} was happy.',
        short='The {thing} of {n} broke. {a_helper} mended it with glue and string. Then {n} was happy again.'),
}
