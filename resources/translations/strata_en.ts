<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en">
<context>
    <name>CrashDialog</name>
    <message numerus="yes">
        <source>%n more since; all are in the log.</source>
        <translation>
            <numerusform>%n more since; it is in the log.</numerusform>
            <numerusform>%n more since; all are in the log.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ExchangeDeeds</name>
    <message numerus="yes">
        <source>%n chats imported</source>
        <translation>
            <numerusform>%n chat imported</numerusform>
            <numerusform>%n chats imported</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>FindBar</name>
    <message numerus="yes">
        <source>{place} of %n messages</source>
        <translation>
            <numerusform>{place} of %n message</numerusform>
            <numerusform>{place} of %n messages</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Work</name>
    <message numerus="yes">
        <source>{what}; %n more waiting</source>
        <translation>
            <numerusform>{what}; %n more waiting</numerusform>
            <numerusform>{what}; %n more waiting</numerusform>
        </translation>
    </message>
</context>
</TS>
