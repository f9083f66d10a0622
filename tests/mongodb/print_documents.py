"""Prints what a database holds, as canonical extended JSON, one thing a line:
options of `buckets`, indexes of `buckets` and `sensors`, then the documents of
`buckets`, `sensors` and `sites`.
Usage: print_documents.py URI DATABASE"""

import sys

from bson.json_util import CANONICAL_JSON_OPTIONS, dumps
from bson.son import SON
from bson.codec_options import CodecOptions
from pymongo import MongoClient

database = MongoClient(sys.argv[1]).get_database(
    sys.argv[2], codec_options=CodecOptions(document_class=SON)
)
buckets = database["buckets"]


def show(value):
    print(dumps(value, json_options=CANONICAL_JSON_OPTIONS))


show(buckets.options())
for collection in (buckets, database["sensors"]):
    for index in collection.list_indexes():
        show(index["key"])
for collection in (buckets, database["sensors"], database["sites"]):
    for document in collection.find().sort("_id"):
        show(document)
