"""Prints what a database holds as lines of JSON: collections, indexes and
sensors first, then each bucket. Usage: print_buckets.py URI DATABASE"""

import json
import sys

from bson.codec_options import CodecOptions
from bson.son import SON
from pymongo import MongoClient

database = MongoClient(sys.argv[1]).get_database(
    sys.argv[2], codec_options=CodecOptions(document_class=SON)
)
names = sorted(database.list_collection_names())
print(
    json.dumps(
        {
            "collections": names,
            "indexes": {
                name: sorted(index["name"] for index in database[name].list_indexes())
                for name in names
            },
            "sensors": [sensor["_id"] for sensor in database["sensors"].find()],
        }
    )
)
for bucket in database["buckets"].find().sort("_id"):
    readings = sorted(bucket["readings"], key=lambda reading: reading["sec"])
    temp = bucket["computed"]["temp"]
    print(
        json.dumps(
            {
                "_id": bucket["_id"],
                "fields": list(bucket.keys()),
                "sensorId": bucket["sensorId"],
                "hour": bucket["hour"].isoformat() + "Z",
                "part": bucket["part"],
                "count": bucket["count"],
                "entryFields": sorted({tuple(reading.keys()) for reading in readings}),
                "secTypes": sorted({type(reading["sec"]).__name__ for reading in readings}),
                "computedFields": list(bucket["computed"].keys()),
                "computedOfTemp": list(temp.keys()),
                "sumTempIsComputedSum": bucket["sumTemp"] == temp["sum"],
                "sum": repr(temp["sum"]),
                "min": repr(temp["min"]),
                "max": repr(temp["max"]),
                "temps": [repr(reading["temp"]) for reading in readings],
            }
        )
    )
