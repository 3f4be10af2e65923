"""Small Parquet files that a fuzzer damaged: polars 2.1 panics at one, and dies of the other."""

from __future__ import annotations

import base64
import zlib

_ABORTS = (
    "c-n=NF>ljA6o4<WaUv0+4m}eG0|r`?&?q==)5NF@m*9qo6r4~%Vsqm-iBys*E)A50v0_9_oibHIFfg$(!ho3g83^$kco)A$@&ZrK"
    "_q})b-n-{Jox|EiD$>^iXp<V05VA-@p-"
    "35d9+^fe$PDrVQbk@wUP4|*YRD_dtH^7}CFC+vM_xx}kvZfI<jTBnTA+nIjnM@vQHhW^Od7E>3GIlzv9j;K9=|faH$Hr!qEaH#f|"
    "3^8UY8QtkpBpv`iY<?37pB#7-*B8<L7V|zK3?LZEx4?X48net5J77>Y7ov6m^SHcMY1)&`cg~0-"
    "G0MJ<)i(BnU^}GBkxPC%i$>b%U_&k8x0aD(Rm@qNwtTKplQ(U`{2v!A%-"
    "hHtve!(P*EF@N3KQ**_DS0_(KYGHLRglMO{x^7^}k`p@%`rwJ+({YO&$e^2sf9xES9vY{sdi@djVinZGhp4<vL{q8e2{X2G(%X*K"
    "2*nFrQfd8U}{%q<VV*#tp*kUUVtWPF<zQNdOUW3!%LzNF(cOa<JnHLS?s+$bOIppg$uUF-"
    "z>g~Ob`MBRPAF(p8f7qKR)n^GdY|n!mygtz8{eVoc-Zmszq1_5oYc0NYFAS+~4xhHzZIZt4jCS2|pk?=7?)OK-"
    "oOaM12ZPa2GYiFnp=EcT4|YAR>|2Jp<E{F>XO?}xVtU0jvs`fv%QdZ%@0)(v?Ru7(Q}Sx~@P5Szao|n=1<nq%Vg"
)
_PANICS = (
    "c-n=N&yUhT6vqc>3W-Gbuu~~ktv{&X5-i<ip=Lb{*hM00i>oHyx|9OR3LCmEx?VgQkH*uUIBjC|;K`duFUFI9hB5vN`i8zG_M$J-"
    "`OKSn@AW$~8Jl&=RG=>t(Ard|gpg$t8bwOT)5r``MrM&`kP7lF@*MI!Qbk@sUPN9(UPk7S8uAJ<k1QasB3Bl=X^EDKu$d()Qjw52"
    "O#TKt^@_bV^Y6YKzR<t6-hZZoTp{9;oJqL-"
    "9wm}4{YpU7juKjmz?poHL2J{K{2Wfeci(DstgVLCZtGEZHR`TMT_fsNqHa0ru7UV0&Hg1`fc0eS&0K$$rcrXz8wNc$2xWhWL(^uW"
    "_E8|RA{`~D&F>6`Gm&oaA&tu$w}i=fyhjDtS}s1{Gofi19hb_HHorMZmle6Fy-h0rJRfP6q!Q7-"
    "rIi0`l0NZR=}?q(Ed^NS+A?X@>D+sCJ?IX4Pu$GU*fnnJeFkRnuC@>UGY9?o)NRHB)|k^_D>kf8r+mJ}*l}KqQ|DcscXw_=P_4Tt"
    "8phQ(8Jc~-"
    "*DYSJ&Pz2ryIteqpldu}RbKy~zesA%6D;^W4{q`LK#S`En_|5!NHW8*6Q(vC{_B1i(%c+9cGwM)xoeMi+)1G3cc1SK#-oC|-"
    "<t%(@kljF<&v)Ex1SDoJhkeZy0Pu8`o3pWeZOXS<u#*Pb9K`-%!=<De%0-HrcscKO8D@8#0atBP5%MK9lFv"
)

ABORTS, PANICS = (zlib.decompress(base64.b85decode(text)) for text in (_ABORTS, _PANICS))
